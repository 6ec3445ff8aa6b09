// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/rounds/cpu/plan_text.h"

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

/// The text of decisions and items, with the names of values.
class TurnText {
 public:
  explicit TurnText(const Turn& plan) : plan_(plan), program_(*plan.program) {}

  std::string run() {
    for (const auto& [id, place] : plan_.wanted_at) line(name_of(program_, id) + ": wanted as " + text(place));
    for (const Step* step : plan_.plan().steps) {
      const auto found = plan_.storage.find(step->variables.front());
      if (found != plan_.storage.end()) line(name_of(program_, found->first) + ": " + word_of(found->second));
    }
    for (const Item& item : plan_.items) {
      const std::string each = std::visit([&](const auto& one) { return text(one); }, item);
      if (!each.empty()) line(each);
    }
    for (const Loop& loop : plan_.loops) {
      line("pass: reads " + bytes(loop.read) + ", writes " + bytes(loop.written) + ": " + loop.what);
    }
    return std::move(text_);
  }

 private:
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

  static std::string text(const Statement&) { return ""; }
  std::string text(const Take& each) const { return name(each.value) + " = " + text(each.from); }
  std::string text(const Given& each) const { return name(each.array) + " = " + text(each.at); }
  std::string text(const Single& each) const {
    return name(each.value) + " = " + text_of(program_, *each.term) + (each.to ? ", also " + text(*each.to) : "");
  }
  std::string text(const Map& each) const {
    return name(each.array) + " = a function of" + (each.arguments.empty() ? " nothing" : names(each.arguments));
  }
  std::string text(const Range& each) const { return name(each.array) + " = places"; }
  std::string text(const Spread& each) const {
    return name(each.array) + " = " + name(each.from) + " for each element of blocks";
  }
  std::string text(const Outer& each) const {
    return name(each.array) + " = the matrix of " + name(each.left) + " and " + name(each.right) + ", by pieces";
  }
  std::string text(const Memory& each) const {
    return "memory of " + name(each.array) + (each.at ? " = " + text(*each.at) : "");
  }
  std::string text(const Buffer& each) const {
    return "memory of " + name(each.value) + (each.at ? " = " + text(*each.at) : "") + ", for all of a matrix";
  }
  std::string text(const Stored& each) const {
    return name(each.array) + " is in memory" + (each.buffer ? " of " + name(*each.buffer) : "");
  }
  std::string text(const Fill& each) const {
    return "store " + name(each.from) + " in " + text(each.to) + prepared(each.outers);
  }
  std::string text(const Copy& each) const { return "copy " + name(each.from) + " to " + text(each.to); }
  std::string text(const Function& each) const { return name(each.name) + " = a function of two elements"; }
  std::string text(const Reduce& each) const {
    return name(each.value) + " = reduce " + name(each.from) + (each.function ? " by " + name(*each.function) : "");
  }
  std::string text(const ReduceBlocks& each) const {
    return "for each block " + name(each.array) + " = reduce " + name(each.from) +
           (each.function ? " by " + name(*each.function) : "");
  }
  std::string text(const Orthonormalize& each) const { return "orthonormalize memory of " + name(each.array); }
  std::string text(const Largest& each) const {
    return "memory of " + name(each.array) + " = places of the largest of " + name(each.from);
  }
  std::string text(const KthLargest& each) const { return name(each.value) + " = kth_largest of " + name(each.from); }
  std::string text(const Zeros& each) const { return "memory of " + name(each.array) + " = zeros"; }
  std::string text(const Scatter& each) const {
    return std::string(each.term->op == Op::kScatter ? "set" : "add to") + " memory of " + name(each.array) + " at " +
           name(each.places) + ": " + (each.values ? name(*each.values) : text_of(program_, *each.term->arguments[1]));
  }
  std::string text(const Tiles& each) const { return "memory of " + name(each.value) + ", for pieces"; }
  std::string text(const Piece& each) const {
    return name(each.value) + " = pieces of " + name(each.from) + " in " + name(each.to) + prepared(each.outers);
  }
  std::string text(const Product& each) const {
    const bool of_rows = each.term->form == MatmulForm::kOfRows;
    return "memory of " + name(each.array) + " = " + (of_rows ? "rows" : "columns") + " of " + name(each.left) +
           " times " + name(each.right);
  }
  static std::string text(const MakeResult&) { return "memory of the result, as the gradient may lie there"; }
  static std::string text(const GiveResult&) { return "give memory of the result"; }

  std::string prepared(const std::vector<Id>& outers) const {
    return outers.empty() ? "" : ", by pieces of" + names(outers);
  }
  void line(const std::string& text) { text_ += "  " + text + "\n"; }
  std::string name(Id id) const { return cpu_turns::name_of(plan_.values[id]); }
  std::string names(const std::vector<Id>& ids) const {
    std::string all;
    for (const Id id : ids) all += " " + name(id);
    return all;
  }
  static std::string bytes(double value) {
    const std::string text = std::to_string(value);
    return text.substr(0, text.find('.') + 3);
  }

  const Turn& plan_;
  const Program& program_;
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
