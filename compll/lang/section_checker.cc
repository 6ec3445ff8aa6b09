// SPDX-License-Identifier: Apache-2.0
//
// The sections of a payload: what `concat` sends and `extract` reads.
#include <algorithm>
#include <array>

#include "compll/lang/code_checker.h"
#include "compll/lang/terms.h"

namespace casync::compll {
namespace {

constexpr std::array<std::string_view, 3> kMarks = {"packed", "rising", "elias"};

}  // namespace

std::string_view word_of(Coding coding) {
  switch (coding) {
    case Coding::kPlain: return "";
    case Coding::kPacked:
    case Coding::kPackedFloats: return "packed";
    case Coding::kRising: return "rising";
    case Coding::kElias:
    case Coding::kEliasSigned: return "elias";
  }
  return "";
}

bool CodeChecker::is_mark(std::string_view name) {
  return std::find(kMarks.begin(), kMarks.end(), name) != kMarks.end();
}

/// The section in `packed(x)`, `rising(x)` or `elias(x)`, unless the file has a function of that name; else the whole.
CodeChecker::MarkedSection CodeChecker::marked_section(const Expression& argument) {
  const auto* call = std::get_if<Call>(&argument.node);
  if (call == nullptr || call->type != nullptr || !is_mark(call->callee.text) ||
      callable(call->callee.text) != nullptr) {
    return {"", &argument};
  }
  need_arguments(argument, *call, 1, 1, std::string(call->callee.text) + "(codes)");
  return {call->callee.text, call->arguments.front().get()};
}

/// Returns the coding of a section of this type that is marked so.
Coding CodeChecker::coding_of(const MarkedSection& marked, const Type& type) {
  if (marked.word.empty()) return Coding::kPlain;
  const std::string word = "`" + std::string(marked.word) + "`";
  if (!type.is_array()) refuse(marked.of->at, word + " of one element", "only arrays are coded");
  if (type.element == kTritType) refuse(marked.of->at, word + " of trits", "send them as `int2`");
  if (marked.word == "packed") return type.element == kFloatType ? Coding::kPackedFloats : Coding::kPacked;
  if (marked.word == "rising") {
    if (type.element == kUintType) return Coding::kRising;
    refuse(marked.of->at, word + " takes places, which are `uint*`, this is `" + text_of(type) + "`");
  }
  if (type.element.is_integer())
    return type.element.kind == ScalarType::Kind::kInt ? Coding::kEliasSigned : Coding::kElias;
  refuse(marked.of->at, word + " takes whole numbers, this is `" + text_of(type) + "`", "`packed` takes any array");
}

void CodeChecker::refuse_mark(const Expression& argument, std::size_t section) {
  const Section& wanted = program_.sections[section];
  const std::string word(word_of(wanted.coding));
  refuse(argument.at,
         "the section `" + wanted.name + "` of `encode` is " +
             (word.empty() ? "sent as it is" : "coded by `" + word + "`") + ", and here it is not",
         "write `" + (word.empty() ? wanted.name : word + "(" + wanted.name + ")") + "`, as `encode` does");
}

void CodeChecker::assign_sections(const Word& name, const Expression& value) {
  const auto* call = std::get_if<Call>(&value.node);
  if (call == nullptr || call->callee.text != "concat") {
    refuse(value.at, "`" + std::string(name.text) + "` is what `concat` makes",
           "write `" + std::string(name.text) + " = concat(scale, codes);`");
  }
  if (call->arguments.empty()) refuse(value.at, "`concat` of nothing");
  if (call->arguments.size() > kSectionLimit) {
    refuse(call->arguments[kSectionLimit]->at, "more than " + std::to_string(kSectionLimit) + " sections",
           "send several values as one array: `map(range(3), [&](int i) -> float { return i == 0 ? low : high; })`");
  }
  if (kind_ == RoutineKind::kMerge && call->arguments.size() != program_.sections.size()) {
    refuse(value.at,
           "`concat` of " + std::to_string(call->arguments.size()) + " sections, in `encode` it has " +
               std::to_string(program_.sections.size()),
           "decode reads what either function makes");
  }
  for (std::size_t i = 0; i < call->arguments.size(); ++i) {
    const MarkedSection marked = marked_section(*call->arguments[i]);
    const Expression& argument = *marked.of;
    TermPtr section = check_one(argument);
    const auto* word = std::get_if<Name>(&argument.node);
    if (section->type().element == kVoidType) refuse(argument.at, "this has no value");
    if (kind_ == RoutineKind::kEncode) {
      program_.sections.push_back(
          {word != nullptr ? std::string(word->text) : "section", section->type(), coding_of(marked, section->type())});
    } else if (marked.word != word_of(program_.sections[i].coding)) {
      refuse_mark(*call->arguments[i], i);
    } else if (section->type() != program_.sections[i].type) {
      const Section& wanted = program_.sections[i];
      const auto sized = [&](const Type& type) {
        return text_of(type) + (type.extent ? " of " + text_of(*type.extent) : "");
      };
      refuse(argument.at, "this is " + sized(section->type()) + ", the section `" + wanted.name + "` of `encode` is " +
                              sized(wanted.type));
    }
    routine_->sections.push_back(std::move(section));
  }
}

/// `extract(compressed, a, b);`: the variables get the sections, in their order.
void CodeChecker::extract(const Statement& at, const Call& call) {
  if (kind_ != RoutineKind::kDecode || level_ != 0 || calls_ != 0) refuse(at.at, "`extract` belongs into `decode`");
  if (!routine_->extracted.empty()) refuse(at.at, "a second `extract`", "take all sections at once");
  const auto* bytes = call.arguments.empty() ? nullptr : std::get_if<Name>(&call.arguments.front()->node);
  const Declared* from = bytes == nullptr ? nullptr : names_.find(bytes->text);
  if (from == nullptr || !std::holds_alternative<Declared::Bytes>(from->what)) {
    refuse(at.at, "`extract` takes the compressed bytes first", "write `extract(compressed, scale, codes);`");
  }
  if (call.arguments.size() != program_.sections.size() + 1) {
    refuse(at.at, "`extract` into " + std::to_string(call.arguments.size() - 1) +
                      " variables, `concat` in `encode` has " + std::to_string(program_.sections.size()) + " sections");
  }
  for (std::size_t i = 0; i < program_.sections.size(); ++i) {
    const MarkedSection marked = marked_section(*call.arguments[i + 1]);
    const Expression& argument = *marked.of;
    if (marked.word != word_of(program_.sections[i].coding)) refuse_mark(*call.arguments[i + 1], i);
    const auto* name = std::get_if<Name>(&argument.node);
    const Declared* declared = name == nullptr ? nullptr : names_.find(name->text);
    const auto* variable = declared == nullptr ? nullptr : std::get_if<Declared::Variable>(&declared->what);
    if (variable == nullptr)
      refuse(argument.at, "`extract` into what is no variable", "declare it before: `float scale;`");
    const Type& type = program_.sections[i].type;
    if (variable->type.element != type.element || variable->type.array != type.is_array()) {
      refuse(argument.at, "`" + std::string(name->text) + "` is " + text_of(variable->type.element) +
                              (variable->type.array ? "*" : "") + ", the section `" + program_.sections[i].name +
                              "` is " + text_of(type));
    }
    if (values_[variable->slot]) refuse(argument.at, "`" + std::string(name->text) + "` has a value already");
    const VariableId id = new_variable(name->text, type, argument.at);
    values_[variable->slot] = id;
    routine_->extracted.push_back(id);
  }
}

}  // namespace casync::compll
