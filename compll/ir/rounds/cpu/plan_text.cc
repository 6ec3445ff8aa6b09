// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/rounds/cpu/plan_text.h"

#include "compll/ir/filled.h"
#include "compll/lang/terms.h"

namespace casync::compll::cpu_turns {
namespace {

std::string word_of(Storage storage) {
  switch (storage) {
    case Storage::kNowhere: return "where it is used";
    case Storage::kMade: return "in memory, as it is made";
    case Storage::kMemory: return "once, into memory";
    case Storage::kBuffer: return "into memory, by the product that reads it first";
  }
  return "";
}

/// The names that a turn's texts have in common.
class TurnWords {
 public:
  explicit TurnWords(const Turn& plan) : plan_(plan), program_(*plan.program) {}

 protected:
  std::string text(const Place& place) const {
    switch (place.kind) {
      case Place::Kind::kGradient: return "the gradient";
      case Place::Kind::kStateIn: return "state `" + program_.states[place.index].name + "`";
      case Place::Kind::kStateOut: return "the new state `" + program_.states[place.index].name + "`";
      case Place::Kind::kExchanged: return "exchange " + std::to_string(place.index);
      case Place::Kind::kScratch: return "what is stored of " + name_of(program_, plan_.rounds.stored[place.index]);
      case Place::Kind::kResult: return "the result";
      case Place::Kind::kMade: return "memory of the result";
    }
    return "";
  }
  std::string text(const Address& address) const {
    const Place* place = std::get_if<Place>(&address);
    return place != nullptr ? text(*place) : "memory of " + name(std::get<Id>(address));
  }
  std::string name(Id id) const { return cpu_turns::name_of(plan_.values[id]); }
  std::string names(const std::vector<Id>& ids) const {
    std::string all;
    for (const Id id : ids) all += " " + name(id);
    return all;
  }
  std::string prepared(const std::vector<Id>& outers) const {
    return outers.empty() ? "" : ", by pieces of" + names(outers);
  }

  const Turn& plan_;
  const Program& program_;
};

/// The text of values: single ones, and arrays that are computed where they are used.
class ValueText : TurnWords {
 public:
  using TurnWords::TurnWords;

  std::string operator()(const Take& each) const { return name(each.value) + " = " + text(each.from); }
  std::string operator()(const Given& each) const { return name(each.array) + " = " + text(each.at); }
  std::string operator()(const Single& each) const {
    return name(each.value) + " = " + text_of(program_, *each.term) + (each.to ? ", also " + text(*each.to) : "");
  }
  std::string operator()(const Map& each) const {
    return name(each.array) + " = a function of" + (each.arguments.empty() ? " nothing" : names(each.arguments));
  }
  std::string operator()(const Range& each) const { return name(each.array) + " = places"; }
  std::string operator()(const Spread& each) const {
    return name(each.array) + " = " + name(each.from) + " for each element of blocks";
  }
  std::string operator()(const Outer& each) const {
    return name(each.array) + " = the matrix of " + name(each.left) + " and " + name(each.right) + ", by pieces";
  }
};

/// The text of memory, and of what is stored in it.
class MemoryText : TurnWords {
 public:
  using TurnWords::TurnWords;

  std::string operator()(const Memory& each) const {
    return "memory of " + name(each.array) + (each.at ? " = " + text(*each.at) : "");
  }
  std::string operator()(const Buffer& each) const {
    return "memory of " + name(each.value) + (each.at ? " = " + text(*each.at) : "") + ", for all of a matrix";
  }
  std::string operator()(const Stored& each) const {
    return name(each.array) + " is in memory" + (each.buffer ? " of " + name(*each.buffer) : "");
  }
  std::string operator()(const Fill& each) const {
    return "store " + name(each.from) + " in " + text(each.to) + prepared(each.outers);
  }
  std::string operator()(const Copy& each) const { return "copy " + name(each.from) + " to " + text(each.to); }
  std::string operator()(const Zeros& each) const { return "memory of " + name(each.array) + " = zeros"; }
  std::string operator()(const Tiles& each) const { return "memory of " + name(each.value) + ", for pieces"; }
  std::string operator()(const Piece& each) const {
    return name(each.value) + " = pieces of " + name(each.from) + " in " + name(each.to) + prepared(each.outers);
  }
  std::string operator()(const MakeResult&) const { return "memory of the result, as the gradient may lie there"; }
  std::string operator()(const GiveResult&) const { return "give memory of the result"; }
};

/// The text of operators that go through arrays.
class OperatorText : TurnWords {
 public:
  using TurnWords::TurnWords;

  std::string operator()(const Function& each) const { return name(each.name) + " = a function of two elements"; }
  std::string operator()(const Reduce& each) const {
    return name(each.value) + " = reduce " + name(each.from) + (each.function ? " by " + name(*each.function) : "");
  }
  std::string operator()(const ReduceBlocks& each) const {
    return "for each block " + name(each.array) + " = reduce " + name(each.from) +
           (each.function ? " by " + name(*each.function) : "");
  }
  std::string operator()(const Apply& each) const {
    return (each.value ? name(*each.value) + " = " : "") +
           filled(each.words, [&](std::size_t i) { return name(std::get<MemoryOf>(each.arguments[i]).array); });
  }
  std::string operator()(const Scatter& each) const {
    return std::string(each.term->op == Op::kScatter ? "set" : "add to") + " memory of " + name(each.array) + " at " +
           name(each.places) + ": " + (each.values ? name(*each.values) : text_of(program_, *each.term->arguments[1]));
  }
  std::string operator()(const Product& each) const {
    const bool of_rows = each.term->form == MatmulForm::kOfRows;
    return "memory of " + name(each.array) + " = " + (of_rows ? "rows" : "columns") + " of " + name(each.left) +
           " times " + name(each.right);
  }
};

/// The text of an item; that of a statement is empty.
struct ItemText : ValueText, MemoryText, OperatorText {
  explicit ItemText(const Turn& plan) : ValueText(plan), MemoryText(plan), OperatorText(plan) {}

  using MemoryText::operator();
  using OperatorText::operator();
  using ValueText::operator();
  std::string operator()(const Statement&) const { return ""; }
};

/// The text of a turn, line by line.
class TurnText : TurnWords {
 public:
  using TurnWords::TurnWords;

  std::string run() {
    for (const auto& [id, place] : plan_.wanted_at) line(name_of(program_, id) + ": wanted as " + text(place));
    for (const Step* step : plan_.plan().steps) {
      const auto found = plan_.storage.find(step->variables.front());
      if (found != plan_.storage.end()) line(name_of(program_, found->first) + ": " + word_of(found->second));
    }
    for (const Item& item : plan_.items) {
      const std::string each = std::visit(ItemText(plan_), item);
      if (!each.empty()) line(each);
    }
    for (const Loop& loop : plan_.loops) {
      line("pass: reads " + bytes(loop.read) + ", writes " + bytes(loop.written) + ": " + loop.what);
    }
    return std::move(text_);
  }

 private:
  void line(const std::string& text) { text_ += "  " + text + "\n"; }
  static std::string bytes(double value) {
    const std::string text = std::to_string(value);
    return text.substr(0, text.find('.') + 3);
  }

  std::string text_;
};

}  // namespace

std::string text_of(const Turn& plan) { return TurnText(plan).run(); }

std::string text_of(const Plan& plan) {
  std::string text;
  for (const Turn& turn : plan.turns) text += "turn " + std::to_string(turn.number) + "\n" + text_of(turn);
  return text;
}

}  // namespace casync::compll::cpu_turns
