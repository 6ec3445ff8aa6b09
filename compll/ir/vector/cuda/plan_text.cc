// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cuda/plan_text.h"

#include "compll/lang/terms.h"

namespace casync::compll::cuda_whole {
namespace {

std::string word_of(Storage storage) {
  switch (storage) {
    case Storage::kNowhere: return "where it is used";
    case Storage::kMemory: return "once, into memory";
    case Storage::kProduct: return "once, by the product that reads it first";
  }
  return "";
}

std::string word_of(Zeros zeros) {
  switch (zeros) {
    case Zeros::kNone: return "";
    case Zeros::kCleared: return ", zeros, cleared by the last tile";
    case Zeros::kByStep: return ", zeros, cleared by a stage";
  }
  return "";
}

/// The text of a launch, with the names of values.
class PlanText {
 public:
  explicit PlanText(const Routine& plan) : plan_(plan), program_(*plan.program) {}

  std::string run() {
    write_decisions();
    for (const Space& space : plan_.workspace) line("workspace " + space.word + ": " + text(space));
    for (const Value& value : plan_.values) write(value);
    for (std::size_t i = 0; i < plan_.functions.size(); ++i) {
      line("function " + std::to_string(i) + " of two elements, to reduce by");
    }
    for (const Search& search : plan_.searches) {
      line("search " + search.name + ": " + std::string(name_of(search.term->op)) + " of " + name(search.from));
    }
    if (plan_.stages.empty()) {
      for (const Task& task : plan_.tasks) {
        line("in stage " + std::to_string(task.stage) + ": " + text(task.work) +
             (task.at_end ? ", by the last tile" : ""));
      }
    }
    for (std::size_t i = 0; i < plan_.stages.size(); ++i) write(i, plan_.stages[i]);
    return std::move(text_);
  }

 private:
  void write_decisions() {
    for_each_term(*plan_.routine, [&](const Term& term) {
      const auto found = plan_.conditions.find(&term);
      if (found == plan_.conditions.end()) return;
      const auto& [value, holds] = found->second;
      line("reduction of " + text_of(program_, *term.arguments[0]) + (holds ? " if " : " unless ") +
           text_of(program_, *value));
    });
    for (const auto& [id, at] : plan_.wanted) line(name_of(program_, id) + ": wanted in " + text(at));
    for (const compll::Step* step : plan_.changed) {
      line(name_of(program_, step->variables.front()) + ": changes " + text_of(program_, *step->value->arguments[2]) +
           " where it lies");
    }
    for (const compll::Step* step : plan_.steps) {
      const auto found = plan_.storage.find(step->value.get());
      if (found != plan_.storage.end()) {
        line(name_of(program_, step->variables.front()) + ": " + word_of(found->second));
      }
    }
  }

  void write(const Value& value) {
    const std::string own = std::to_string(value.ready.own), all = std::to_string(value.ready.all);
    line(value.name + " = " + std::visit([&](const auto& each) { return text(each); }, value.definition) +
         (value.ready.all == 0 ? "" : ", from stage " + own + (own == all ? "" : ", others' elements from " + all)));
  }

  void write(std::size_t number, const Stage& stage) {
    line("stage " + std::to_string(number));
    if (!stage.by_pieces.empty()) line("  by pieces of " + std::to_string(stage.piece));
    for (const Work& work : stage.by_pieces) line("    " + text(work));
    for (const Work& work : stage.at_once) line("  " + text(work));
    if (!stage.at_end.empty()) line("  the last tile");
    for (const Work& work : stage.at_end) line("    " + text(work));
  }

  // Memory.
  std::string text(const Space& space) const { return bytes(space) + word_of(space.zeros); }
  std::string bytes(const Space& space) const {
    const std::string each = std::to_string(space.bytes);
    switch (space.count) {
      case Space::Count::kOne: break;
      case Space::Count::kElements: return each + " bytes for " + size(space.of);
      case Space::Count::kChunks: return each + " bytes for chunks of " + size(space.of);
      case Space::Count::kBlock: return each + " bytes for a vector";
      case Space::Count::kTiles: return each + " bytes for each tile";
      case Space::Count::kWarps: return each + " bytes for each warp of a tile";
      case Space::Count::kTies: return each + " bytes for equal keys";
      case Space::Count::kSelection: return "a selection";
    }
    return each + " bytes";
  }
  std::string text(const Address& address) const {
    const std::string own = address.space ? ", or " + word(*address.space) : "";
    switch (address.base) {
      case Address::Base::kWorkspace: break;
      case Address::Base::kInput: return "the input" + own;
      case Address::Base::kGiven: return "the given vector";
      case Address::Base::kResult: return "the result";
      case Address::Base::kStateIn: return "state " + state(address.index);
      case Address::Base::kStateOut: return "the next state " + state(address.index) + own;
      case Address::Base::kExchanged: return "exchange " + std::to_string(address.index);
      case Address::Base::kStored: return "what is stored of " + name_of(program_, plan_.rounds.stored[address.index]);
    }
    return word(*address.space);
  }

  // Definitions.
  std::string text(const Memory& each) { return "memory at " + text(each.at); }
  std::string text(const Element& each) { return "the element at " + text(each.at); }
  std::string text(const Received& each) { return "section " + program_.sections[each.section].name; }
  std::string text(const Single& each) { return text_of(program_, *each.term); }
  std::string text(const Map& each) {
    std::string from;
    for (const std::optional<Id>& argument : each.arguments) from += argument ? " " + name(*argument) : "";
    return "a function of" + (from.empty() ? " nothing" : from) +
           (each.term->types.size() > 1 ? ", result " + std::to_string(each.result) : "");
  }
  std::string text(const Range&) { return "places"; }
  std::string text(const Spread& each) { return name(each.from) + " for each element of its block"; }
  std::string text(const OuterProduct& each) {
    return "the outer product of " + name(each.left) + " " + name(each.right);
  }
  std::string text(const Reduced& each) { return "the result of " + text(each.by); }
  std::string text(const KthLargest& each) { return "the result of search " + search(each.search); }

  std::string text(const Reduction& by) const {
    return std::string(name_of(by.term->reducer)) + (by.function ? " " + std::to_string(*by.function) : "") +
           (by.ordered ? ", in order" : "");
  }

  // Work.
  std::string text(const Work& work) {
    return std::visit([&](const auto& each) { return text(each); }, work);
  }
  std::string text(const TakeInput&) { return "take the input, checked"; }
  std::string text(const Fill& each) {
    const bool draws = each.manner == Fill::Manner::kNeighbours;
    return "store " + (each.from ? name(*each.from) : "zeros") + " in " + text(each.to) +
           (draws ? ", neighbours in a thread" : "") + (each.evenly ? ", in equal shares" : "");
  }
  std::string text(const Send& each) {
    return "send " + program_.sections[each.section].name + " = " +
           (each.from ? name(*each.from) : text_of(program_, *each.term));
  }
  std::string text(const KeepState& each) { return "keep " + state(each.state) + " = " + name(each.from); }
  std::string text(const StoreOne& each) { return "store " + name(each.from) + " in " + text(each.to); }
  std::string text(const GiveZeros&) { return "give zeros"; }
  std::string text(const GiveList& each) { return "give " + name(each.values) + " at " + name(each.places); }
  std::string text(const Give& each) { return "give " + name(each.from); }
  std::string text(const GiveCopied& each) { return "give what is at " + text(each.from); }
  std::string text(const Change& each) {
    return std::string(name_of(each.term->op)) + " " +
           (each.values ? name(*each.values) : text_of(program_, *each.term->arguments[1])) + " into " + text(each.to) +
           " at " + name(each.places);
  }
  std::string text(const SubtractDecoded& each) {
    return "take " + name(each.values) + " at " + name(each.places) + " from the residual";
  }
  std::string text(const ReduceJoined& each) {
    return "reduce " + name(each.from) + " by " + text(each.by) + " into " + word(each.slot);
  }
  std::string text(const ReduceChunks& each) {
    return "reduce chunks of " + name(each.from) + " by " + text(each.by) + " into " + word(each.chunks);
  }
  std::string text(const FinishChunks& each) {
    return "reduce " + word(each.chunks) + " by " + text(each.by) + " into " + word(each.slot);
  }
  std::string text(const ReduceBlocks& each) {
    return "reduce blocks of " + name(each.from) + " by " + text(each.by) + " into " + word(each.to);
  }
  std::string text(const ReduceVectors& each) {
    return "reduce vectors of " + name(each.from) + " by " + text(each.by) + " into " + word(each.to);
  }
  std::string text(const SortRuns& each) { return "sort runs of " + name(each.from) + " into " + word(each.runs); }
  std::string text(const MergeRuns& each) { return "merge runs of " + word(each.runs) + " into " + word(each.to); }
  std::string text(const Sort& each) { return "sort " + name(each.from) + " into " + word(each.to); }
  std::string text(const FindLast& each) {
    return "find the last of equal places " + name(each.places) + " into " + word(each.last);
  }
  std::string text(const FillFromLast& each) {
    return "store " + (each.values ? name(*each.values) : text_of(program_, *each.term->arguments[1])) + " at " +
           word(each.last) + ", else " + (each.into ? name(*each.into) : "zeros") + ", in " + text(each.to);
  }
  std::string text(const Histogram& each) { return "count values of " + name(each.from) + " into " + word(each.to); }
  std::string text(const Rotate& each) { return "rotate blocks of " + name(each.from) + " into " + text(each.to); }
  std::string text(const Multiply& each) {
    const std::optional<Address>& fills = plan_.values[each.matrix].fills;
    return std::string(each.term->form == MatmulForm::kOfRows ? "rows" : "columns") + " of " + name(each.matrix) +
           " times " + name(each.vectors) + " into " + text(each.to) +
           (fills ? ", and store the matrix in " + text(*fills) : "");
  }
  std::string text(const Orthonormalize& each) { return "orthonormalize " + text(each.to); }
  std::string text(const ListLargest& each) {
    std::string fed;
    for (const FedReducer& reducer : each.fed) fed += ", feed " + reducer.name + " = " + name(reducer.from);
    return "list the largest for " + search(each.search) + (each.takes_input ? ", taking the input" : "") + fed;
  }
  std::string text(const ChooseDigit& each) { return "choose digit " + digit(each.digit, each.searches); }
  std::string text(const CountDigit& each) { return "count digit " + digit(each.digit, each.searches); }
  std::string text(const PickLargest& each) { return "write places for" + names(each.searches); }
  std::string text(const PickWhere& each) { return "write places where " + name(each.from) + " into " + word(each.to); }

  void line(const std::string& text) { text_ += "  " + text + "\n"; }
  const std::string& name(Id id) const { return plan_.values[id].name; }
  const std::string& word(SpaceId space) const { return plan_.workspace[space].word; }
  const std::string& search(SearchId id) const { return plan_.searches[id].name; }
  std::string names(const std::vector<SearchId>& ids) const {
    std::string all;
    for (const SearchId id : ids) all += " " + search(id);
    return all;
  }
  std::string digit(std::uint32_t number, const std::vector<SearchId>& ids) const {
    return std::to_string(number) + " for" + names(ids);
  }
  std::string state(std::size_t index) const { return "`" + program_.states[index].name + "`"; }
  /// The number of elements: `ceil(n / 512)`, or the size's number.
  static std::string size(const Type& type) {
    if (!type.extent) return "one element";
    if (type.is_over(Extent::Kind::kSized)) return "size " + std::to_string(type.extent->count.value);
    return compll::text_of(*type.extent);
  }

  const Routine& plan_;
  const Program& program_;
  std::string text_;
};

}  // namespace

std::string text_of(const Routine& plan) { return PlanText(plan).run(); }

namespace {

std::string text_of_all(const std::vector<const Routine*>& routines) {
  std::string text;
  for (const Routine* routine : routines) text += routine->name + "\n" + text_of(*routine);
  return text;
}

}  // namespace

std::string text_of(const Plan& plan) { return text_of_all(routines_of(plan)); }

std::string text_of(const Turns& plan) { return text_of_all(routines_of(plan)); }

}  // namespace casync::compll::cuda_whole
