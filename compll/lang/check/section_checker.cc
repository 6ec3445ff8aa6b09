// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/check/section_checker.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "compll/lang/check/code_checker.h"

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

bool has_codings(const Program& program) {
  return std::any_of(program.sections.begin(), program.sections.end(),
                     [](const Section& section) { return section.coding != Coding::kPlain; });
}

bool SectionChecker::is_mark(std::string_view name) {
  return std::find(kMarks.begin(), kMarks.end(), name) != kMarks.end();
}

/// The section in `packed(x)`, `rising(x)` or `elias(x)`, unless the file has a function of that name; else the whole.
SectionChecker::MarkedSection SectionChecker::marked_section(const Expression& argument) {
  const auto* call = std::get_if<Call>(&argument.node);
  if (call == nullptr || call->type != nullptr || !is_mark(call->callee.text) ||
      code_.functions.callable(call->callee.text) != nullptr) {
    return {"", &argument};
  }
  code_.calls.need_arguments(argument, *call, 1, 1, std::string(call->callee.text) + "(codes)");
  return {call->callee.text, call->arguments.front().get()};
}

/// Returns the coding of a section of this type that is marked so.
Coding SectionChecker::coding_of(const MarkedSection& marked, const Type& type) {
  if (marked.word.empty()) return Coding::kPlain;
  const std::string word = "`" + std::string(marked.word) + "`";
  if (!type.is_array()) code_.refuse(marked.of->at, word + " of one element", "only arrays are coded");
  if (type.element == kTritType) code_.refuse(marked.of->at, word + " of trits", "send them as `int2`");
  if (marked.word == "packed") return type.element == kFloatType ? Coding::kPackedFloats : Coding::kPacked;
  if (marked.word == "rising") {
    if (type.element == kUintType) return Coding::kRising;
    code_.refuse(marked.of->at, word + " takes places, which are `uint*`, this is `" + text_of(type) + "`");
  }
  if (type.element.is_integer())
    return type.element.kind == ScalarType::Kind::kInt ? Coding::kEliasSigned : Coding::kElias;
  code_.refuse(marked.of->at, word + " takes whole numbers, this is `" + text_of(type) + "`",
               "`packed` takes any array");
}

bool SectionChecker::fits(const MarkedSection& marked, std::size_t index) const {
  if (marked.word.empty()) return !sent_[index].has_mark;
  return marked.word == word_of(code_.program.sections[index].coding);
}

void SectionChecker::refuse_mark(const Expression& argument, std::size_t section) {
  const Section& wanted = code_.program.sections[section];
  const std::string word(word_of(wanted.coding));
  code_.refuse(argument.at,
               "the section `" + wanted.name + "` of `encode` is " +
                   (word.empty() ? "sent as it is" : "coded by `" + word + "`") + ", and here it is not",
               "write `" + (word.empty() ? wanted.name : word + "(" + wanted.name + ")") + "`, as `encode` does");
}

void SectionChecker::assign_sections(const Word& name, const Expression& value) {
  const auto* call = std::get_if<Call>(&value.node);
  if (call == nullptr || call->callee.text != "concat") {
    code_.refuse(value.at, "`" + std::string(name.text) + "` is what `concat` makes",
                 "write `" + std::string(name.text) + " = concat(scale, codes);`");
  }
  need_count(value, *call);
  for (std::size_t i = 0; i < call->arguments.size(); ++i) add_section(*call->arguments[i], i);
  code_.place.kind == RoutineKind::kEncode ? forget_other_counts() : need_counts(*call);
}

/// Forgets the counts of selections that are not sent: such a count is a value like any other.
void SectionChecker::forget_other_counts() {
  const std::vector<Section>& sections = code_.program.sections;
  for (Sent& sent : sent_) {
    const auto is_counted = [&](const Section& section) { return section.type.extent == sent.counts; };
    if (sent.counts && std::none_of(sections.begin(), sections.end(), is_counted)) sent.counts.reset();
  }
}

void SectionChecker::need_count(const Expression& value, const Call& concat) {
  const std::size_t count = concat.arguments.size(), wanted = code_.program.sections.size();
  if (count == 0) code_.refuse(value.at, "`concat` of nothing");
  if (count > kSectionLimit) {
    code_.refuse(concat.arguments[kSectionLimit]->at, "more than " + std::to_string(kSectionLimit) + " sections",
                 "send several values as one array: `map(range(3), [&](int i) -> float { return i == 0 ? low : high; "
                 "})`");
  }
  if (code_.place.kind == RoutineKind::kMerge && count != wanted) {
    code_.refuse(value.at,
                 "`concat` of " + std::to_string(count) + " sections, in `encode` it has " + std::to_string(wanted),
                 "decode reads what either function makes");
  }
}

/// The places of a selection are in ascending order: they are coded as `rising`, also as `int`. Anything else of a
/// selection is `packed`.
Coding SectionChecker::coding_of_selection(const MarkedSection& marked, const Type& type, const Fill& fill) {
  if (fill && is_nowhere(*fill, type.element)) return Coding::kRising;
  return coding_of({"packed", marked.of}, type);
}

Fill SectionChecker::fill(TermPtr& section, std::string_view mark) {
  const Type type = section->type();
  SelectionChecker& selections = code_.selections;
  if (!selections.is_selection(type)) return {};
  if (const Fill known = selections.fill_of(*section)) return known;
  const double wanted = mark == "rising" && type.element == kUintType ? kNowhere : 0;
  section = selections.filled(std::move(section), wanted);
  return Scalar::of(type.element, wanted);
}

void SectionChecker::add_section(const Expression& argument, std::size_t index) {
  const MarkedSection marked = marked_section(argument);
  TermPtr section = code_.expressions.check_one(*marked.of);
  const Type type = section->type();
  if (type.element == kVoidType) code_.refuse(marked.of->at, "this has no value");
  if (code_.place.kind == RoutineKind::kEncode) {
    const auto* word = std::get_if<Name>(&marked.of->node);
    Sent sent{!marked.word.empty(), fill(section, marked.word), code_.selections.counted_by(*section)};
    const bool chosen = marked.word.empty() && code_.selections.is_selection(type);
    const Coding coding = chosen ? coding_of_selection(marked, type, sent.fill) : coding_of(marked, type);
    sent_.push_back(sent);
    code_.program.sections.push_back({word != nullptr ? std::string(word->text) : "section", type, coding});
  } else {
    const Type& wanted = code_.program.sections[index].type;
    if (type.extent && wanted.extent) code_.selections.take_for(*type.extent, *wanted.extent, *section);
    need_same(argument, marked, *section, index);
    if (sent_[index].fill) {
      section = code_.selections.filled(std::move(section), sent_[index].fill->as_number(type.element));
    }
  }
  code_.place.routine->sections.push_back(std::move(section));
}

/// Refuses a section of merge that differs from the one of encode.
void SectionChecker::need_same(const Expression& argument, const MarkedSection& marked, const Term& section,
                               std::size_t index) {
  const Section& wanted = code_.program.sections[index];
  if (!fits(marked, index)) refuse_mark(argument, index);
  if (section.type() != wanted.type) {
    const auto sized = [&](const Type& type) {
      return text_of(type) + (type.extent ? " of " + code_.sizes.text_of(*type.extent) : "");
    };
    code_.refuse(marked.of->at, "this is " + sized(section.type()) + ", the section `" + wanted.name +
                                    "` of `encode` is " + sized(wanted.type));
  }
}

/// Refuses a merge that sends another number where encode sends the number of a selection's elements.
void SectionChecker::need_counts(const Call& concat) const {
  for (std::size_t i = 0; i < sent_.size(); ++i) {
    const std::optional<Extent>& counts = sent_[i].counts;
    if (!counts || code_.selections.counted_by(*code_.place.routine->sections[i]) == counts) continue;
    code_.refuse(concat.arguments[i]->at, "the section `" + code_.program.sections[i].name +
                                              "` of `encode` is the number of elements of " +
                                              code_.sizes.text_of(*counts) + ", and here it is not");
  }
}

void SectionChecker::extract(const Statement& at, const Call& call) {
  const Place& place = code_.place;
  const std::vector<Section>& sections = code_.program.sections;
  if (place.kind != RoutineKind::kDecode || place.level != 0 || place.calls != 0) {
    code_.refuse(at.at, "`extract` belongs into `decode`");
  }
  if (!place.routine->extracted.empty()) code_.refuse(at.at, "a second `extract`", "take all sections at once");
  const auto* bytes = call.arguments.empty() ? nullptr : std::get_if<Name>(&call.arguments.front()->node);
  const Declared* from = bytes == nullptr ? nullptr : code_.variables.names().find(bytes->text);
  if (from == nullptr || !std::holds_alternative<Declared::Bytes>(from->what)) {
    code_.refuse(at.at, "`extract` takes the compressed bytes first", "write `extract(compressed, scale, codes);`");
  }
  if (call.arguments.size() != sections.size() + 1) {
    code_.refuse(at.at, "`extract` into " + std::to_string(call.arguments.size() - 1) +
                            " variables, `concat` in `encode` has " + std::to_string(sections.size()) + " sections");
  }
  for (std::size_t i = 0; i < sections.size(); ++i) extract_section(*call.arguments[i + 1], i);
  code_.selections.count_extracted();
}

void SectionChecker::extract_section(const Expression& argument, std::size_t index) {
  const MarkedSection marked = marked_section(argument);
  const Section& section = code_.program.sections[index];
  const Sent& sent = sent_[index];
  const Span at = marked.of->at;
  if (!fits(marked, index)) refuse_mark(argument, index);
  const auto* name = std::get_if<Name>(&marked.of->node);
  const auto* variable = name == nullptr ? nullptr : code_.variables.find(name->text);
  if (variable == nullptr) code_.refuse(at, "`extract` into what is no variable", "declare it first: `float scale;`");
  const Type& type = section.type;
  if (variable->type.element != type.element || variable->type.array != type.is_array()) {
    code_.refuse(at, "`" + std::string(name->text) + "` is " + text_of(variable->type.element) +
                         (variable->type.array ? "*" : "") + ", the section `" + section.name + "` is " +
                         text_of(type));
  }
  if (code_.variables.value(*variable)) {
    code_.refuse(at, "`" + std::string(name->text) + "` has a value already");
  }
  const VariableId id = code_.variables.new_variable(name->text, type, at);
  code_.variables.values()[variable->slot] = id;
  code_.place.routine->extracted.push_back(id);
  code_.selections.note_extracted(id, type, sent.fill);
  if (sent.counts) code_.selections.note_count(*sent.counts, id);
}

}  // namespace casync::compll
