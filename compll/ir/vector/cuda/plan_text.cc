// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cuda/plan_text.h"

#include "compll/ir/filled.h"
#include "compll/lang/terms.h"

namespace casync::compll::cuda_vector {
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

/// The names that a plan's texts have in common.
class PlanWords {
 public:
  explicit PlanWords(const Routine& plan) : plan_(plan), program_(*plan.program) {}

 protected:
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

  std::string text(const Reduction& by) const {
    return std::string(name_of(by.term->reducer)) + (by.function ? " " + std::to_string(*by.function) : "") +
           (by.ordered ? ", in order" : "");
  }

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
  std::string block(const Constant& size) const {
    if (size.dimension) return std::string(name_of(*size.dimension));
    return size.parameter ? program_.parameters[*size.parameter].name : std::to_string(size.value);
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
};

/// The text of a definition.
class DefinitionText : PlanWords {
 public:
  using PlanWords::PlanWords;

  std::string operator()(const Memory& each) const { return "memory at " + text(each.at); }
  std::string operator()(const Element& each) const { return "the element at " + text(each.at); }
  std::string operator()(const Received& each) const { return "section " + program_.sections[each.section].name; }
  std::string operator()(const Single& each) const { return text_of(program_, *each.term); }
  std::string operator()(const Map& each) const {
    std::string from;
    for (const std::optional<Id>& argument : each.arguments) from += argument ? " " + name(*argument) : "";
    return "a function of" + (from.empty() ? " nothing" : from) +
           (each.term->types.size() > 1 ? ", result " + std::to_string(each.result) : "");
  }
  std::string operator()(const Range&) const { return "places"; }
  std::string operator()(const Spread& each) const { return name(each.from) + " for each element of its block"; }
  std::string operator()(const OuterProduct& each) const {
    return "the outer product of " + name(each.left) + " " + name(each.right);
  }
  std::string operator()(const Reduced& each) const { return "the result of " + text(each.by); }
  std::string operator()(const KthLargest& each) const { return "the result of search " + search(each.search); }
};

/// The text of work that moves elements: from the input, to memory, to what the launch gives.
class MoveText : PlanWords {
 public:
  using PlanWords::PlanWords;

  std::string operator()(const TakeInput&) const { return "take the input, checked"; }
  std::string operator()(const Fill& each) const {
    const bool draws = each.manner == Fill::Manner::kNeighbours;
    return "store " + (each.from ? name(*each.from) : "zeros") + " in " + text(each.to) +
           (draws ? ", neighbours in a thread" : "") + (each.evenly ? ", in equal shares" : "");
  }
  std::string operator()(const Send& each) const {
    return "send " + program_.sections[each.section].name + " = " +
           (each.from ? name(*each.from) : text_of(program_, *each.term));
  }
  std::string operator()(const KeepState& each) const { return "keep " + state(each.state) + " = " + name(each.from); }
  std::string operator()(const StoreOne& each) const { return "store " + name(each.from) + " in " + text(each.to); }
  std::string operator()(const GiveZeros&) const { return "give zeros"; }
  std::string operator()(const GiveList& each) const {
    return "give " + name(each.values) + " at " + name(each.places);
  }
  std::string operator()(const Give& each) const { return "give " + name(each.from); }
  std::string operator()(const GiveCopied& each) const { return "give what is at " + text(each.from); }
  std::string operator()(const Change& each) const {
    return std::string(name_of(each.term->op)) + " " +
           (each.values ? name(*each.values) : text_of(program_, *each.term->arguments[1])) + " into " + text(each.to) +
           " at " + name(each.places);
  }
  std::string operator()(const SubtractDecoded& each) const {
    return "take " + name(each.values) + " at " + name(each.places) + " from the residual";
  }
};

/// The text of reductions.
class ReductionText : PlanWords {
 public:
  using PlanWords::PlanWords;

  std::string operator()(const ReduceJoined& each) const {
    return "reduce " + name(each.from) + " by " + text(each.by) + " into " + word(each.slot);
  }
  std::string operator()(const ReduceChunks& each) const {
    return "reduce chunks of " + name(each.from) + " by " + text(each.by) + " into " + word(each.chunks);
  }
  std::string operator()(const FinishChunks& each) const {
    return "reduce " + word(each.chunks) + " by " + text(each.by) + " into " + word(each.slot);
  }
  std::string operator()(const ReduceBlocks& each) const {
    return "reduce blocks of " + name(each.from) + " by " + text(each.by) + " into " + word(each.to);
  }
  std::string operator()(const ReduceVectors& each) const {
    return "reduce vectors of " + name(each.from) + " by " + text(each.by) + " into " + word(each.to);
  }
};

/// The text of operators that make arrays at once.
class CallText : PlanWords {
 public:
  using PlanWords::PlanWords;

  std::string operator()(const Apply& each) const {
    return filled(each.words, [&](std::size_t i) {
      return std::visit([&](const auto& argument) { return argument_text(argument); }, each.arguments[i]);
    });
  }
  std::string operator()(const FillFromLast& each) const {
    return "store " + (each.values ? name(*each.values) : text_of(program_, *each.term->arguments[1])) + " at " +
           word(each.last) + ", else " + (each.into ? name(*each.into) : "zeros") + ", in " + text(each.to);
  }
  std::string operator()(const Multiply& each) const {
    const std::optional<Address>& fills = plan_.values[each.matrix].fills;
    return std::string(each.term->form == MatmulForm::kOfRows ? "rows" : "columns") + " of " + name(each.matrix) +
           " times " + name(each.vectors) + " into " + text(each.to) +
           (fills ? ", and store the matrix in " + text(*fills) : "");
  }

 private:
  std::string argument_text(const Tile&) const { return "the tile"; }
  std::string argument_text(const ShareOf& each) const { return "a share of " + size(each.type); }
  std::string argument_text(const SizeOf& each) const { return size(each.type); }
  std::string argument_text(const ElementsOf& each) const { return name(each.array); }
  std::string argument_text(const Term* value) const { return text_of(program_, *value); }
  std::string argument_text(const MemoryOf& each) const { return word(each.space); }
  std::string argument_text(const StoredIn& each) const { return word(each.memory.space); }
  std::string argument_text(const Address& each) const { return text(each); }
  std::string argument_text(const BlockOf& each) const { return block(each.size); }
  std::string argument_text(const BeforeOf& each) const { return each.name; }
};

/// The text of operators that find elements.
class SearchText : PlanWords {
 public:
  using PlanWords::PlanWords;

  std::string operator()(const ListLargest& each) const {
    std::string fed;
    for (const FedReducer& reducer : each.fed) fed += ", feed " + reducer.name + " = " + name(reducer.from);
    return "list the largest for " + search(each.search) + (each.takes_input ? ", taking the input" : "") + fed;
  }
  std::string operator()(const ChooseDigit& each) const { return "choose digit " + digit(each.digit, each.searches); }
  std::string operator()(const CountDigit& each) const { return "count digit " + digit(each.digit, each.searches); }
  std::string operator()(const PickLargest& each) const { return "write places for" + names(each.searches); }
  std::string operator()(const PickWhere& each) const {
    return "write places where " + name(each.from) + " into " + word(each.to);
  }
};

/// The text of a stage's work.
struct WorkText : MoveText, ReductionText, CallText, SearchText {
  explicit WorkText(const Routine& plan) : MoveText(plan), ReductionText(plan), CallText(plan), SearchText(plan) {}

  using CallText::operator();
  using MoveText::operator();
  using ReductionText::operator();
  using SearchText::operator();
};

/// The text of a launch, line by line.
class PlanText : PlanWords {
 public:
  using PlanWords::PlanWords;

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
        line("in stage " + std::to_string(task.stage) + ": " + words_of(task.work) +
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
    line(value.name + " = " + std::visit(DefinitionText(plan_), value.definition) +
         (value.ready.all == 0 ? "" : ", from stage " + own + (own == all ? "" : ", others' elements from " + all)));
  }

  void write(std::size_t number, const Stage& stage) {
    line("stage " + std::to_string(number));
    if (!stage.by_pieces.empty()) line("  by pieces of " + std::to_string(stage.piece));
    for (const Work& work : stage.by_pieces) line("    " + words_of(work));
    for (const Work& work : stage.at_once) line("  " + words_of(work));
    if (!stage.at_end.empty()) line("  the last tile");
    for (const Work& work : stage.at_end) line("    " + words_of(work));
  }

  std::string words_of(const Work& work) const { return std::visit(WorkText(plan_), work); }
  void line(const std::string& text) { text_ += "  " + text + "\n"; }
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

}  // namespace casync::compll::cuda_vector
