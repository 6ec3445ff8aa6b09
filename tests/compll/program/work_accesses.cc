// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/program/work_accesses.h"

#include <algorithm>
#include <cstddef>
#include <variant>

#include "compll/lang/terms.h"

namespace casync::compll::cuda_vector {
namespace {

/// The map whose function is read, if there is one, and the share in which its elements are computed.
struct MapElements {
  const Map* map = nullptr;
  Share share = Share::kAny;
};

Share share_of(const Type& type) { return type.is_over(Extent::Kind::kSized) ? Share::kEqual : Share::kByPlaces; }

/// Finds the accesses of a work.
class WorkAccesses {
 public:
  explicit WorkAccesses(const Routine& plan) : plan_(plan) {}

  std::vector<Access> of(const Work& work) {
    found_.clear();
    std::visit([&](const auto& each) { add(each); }, work);
    return found_;
  }

 private:
  void add(const TakeInput&) { take_input(); }
  void add(const Fill& work) {
    const bool by_blocks = work.manner == Fill::Manner::kBlocks;
    const Share share = by_blocks ? Share::kByBlocks : work.evenly ? Share::kEqual : Share::kByPlaces;
    if (work.from) read(*work.from, share);
    write(work.to, share);
  }
  void add(const Send& work) {
    if (!work.from) return read_scalar(*work.term);
    const Type& type = plan_.program->sections[work.section].type;
    const bool has_words = type.element.bits >= 32 && type.element != kTritType;
    read(*work.from, type.is_over(Extent::Kind::kBlocks) && has_words ? Share::kByBlocks : share_of(type));
  }
  void add(const KeepState& work) {
    const Share share = share_of(plan_.values[work.from].type);
    read(work.from, share);
    write({Address::Base::kStateOut, work.state, kFloatType, {}}, share);
  }
  void add(const StoreOne& work) {
    read(work.from, Share::kAny);
    write(work.to, Share::kAny);
  }
  void add(const GiveZeros&) { write(kResult, Share::kByPlaces); }
  void add(const GiveList& work) {
    const Share share = share_of(plan_.values[work.places].type);
    read(work.places, share);
    read(work.values, share);
    write(kResult, share, work.places);
  }
  void add(const Give& work) {
    read(work.from, Share::kByPlaces);
    write(kResult, Share::kByPlaces);
  }
  void add(const GiveCopied& work) {
    found_.push_back({name_of(work.from), Share::kByPlaces});
    write(kResult, Share::kByPlaces);
  }
  void add(const Change& work) {
    const Share share = share_of(plan_.values[work.places].type);
    read(work.places, share);
    work.values ? read(*work.values, share) : read_scalar(*work.term->arguments[1]);
    write(work.to, share, work.places);
  }
  void add(const SubtractDecoded& work) {
    const Share share = share_of(plan_.values[work.places].type);
    read(work.places, share);
    read(work.values, share);
    write(kInput, share, work.places);
  }

  void add(const ReduceJoined& work) {
    read(work.from, share_of(plan_.values[work.from].type));
    write(work.slot);
  }
  void add(const ReduceChunks& work) {
    // A tile has whole chunks of its elements by places, and other elements than an equal share of them.
    const Share share = share_of(plan_.values[work.from].type);
    read(work.from, share == Share::kEqual ? Share::kAny : share);
    read_initial(work.by);
    write(work.chunks);
  }
  void add(const FinishChunks& work) {
    update(work.chunks);
    read_initial(work.by);
    write(work.slot);
  }
  void add(const ReduceBlocks& work) {
    read(work.from, Share::kByPlaces);
    read_initial(work.by);
    write(address_of(work.to), Share::kByBlocks);
  }
  void add(const ReduceVectors& work) {
    read(work.from, Share::kAny);
    read_initial(work.by);
    write(work.to);
  }

  /// A call reads and writes elements of all tiles, unless it gets a share: then the first array's elements by it.
  void add(const Apply& call) {
    const bool rotates_own = call.function == "hadamard";
    std::optional<Share> own;
    if (rotates_own) own = Share::kByPlaces;
    for (const Argument& argument : call.arguments) {
      if (const auto* share = std::get_if<ShareOf>(&argument)) own = share_of(share->type);
      if (const auto* elements = std::get_if<ElementsOf>(&argument)) {
        read(elements->array, own.value_or(Share::kAny));
        if (!rotates_own) own.reset();
      }
      if (const auto* value = std::get_if<const Term*>(&argument)) read_scalar(**value);
      if (const auto* sort = std::get_if<BeforeOf>(&argument); sort != nullptr && sort->sort->function) {
        read_function(*sort->sort->function, {});
      }
      if (const auto* stored = std::get_if<StoredIn>(&argument)) update(stored->memory.space);
      if (const auto* memory = std::get_if<MemoryOf>(&argument)) update(memory->space);
      if (const auto* to = std::get_if<Address>(&argument)) write(*to, rotates_own ? Share::kByPlaces : Share::kAny);
    }
  }
  void add(const FillFromLast& work) {
    const Share share = share_of(work.term->type());
    work.values ? read(*work.values, Share::kAny) : read_scalar(*work.term->arguments[1]);
    if (work.into) read(*work.into, share);
    found_.push_back({name_of(address_of(work.last)), share, {}, true, true});
    write(work.to, share);
  }
  void add(const Multiply& work) {
    read(work.matrix, Share::kAny);
    read(work.vectors, Share::kAny);
    write(work.to, Share::kAny);
    if (const auto& fills = plan_.values[work.matrix].fills) write(*fills, Share::kAny);
  }

  void add(const ListLargest& work) {
    const Search& search = plan_.searches[work.search];
    if (work.takes_input) take_input();
    read(search.from, share_of(plan_.values[search.from].type));
    if (!search.places) read_scalar(*search.term->arguments[1]);
    for (const FedReducer& each : work.fed) {
      read(each.from, Share::kByPlaces);
      write(each.slot);
    }
    update(search.selection);
    update(search.entries);
    update(search.lengths);
  }
  void add(const ChooseDigit& work) {
    for (const SearchId id : work.searches) {
      const Search& search = plan_.searches[id];
      if (!search.places && work.digit == 0) read_scalar(*search.term->arguments[1]);
      update(search.selection);
    }
  }
  void add(const CountDigit& work) {
    for (const SearchId id : work.searches) {
      update(plan_.searches[id].selection);
      update(plan_.searches[id].entries);
    }
  }
  void add(const PickLargest& work) {
    for (const SearchId id : work.searches) {
      update(plan_.searches[id].entries);
      update(plan_.searches[id].selection);
      write(*plan_.searches[id].places);
    }
  }
  void add(const PickWhere& work) {
    read(work.from, share_of(plan_.values[work.from].type));
    update(work.told);
    write(work.to);
  }

  void take_input() {
    found_.push_back({name_of(kGiven), Share::kByPlaces});
    write(kInput, Share::kByPlaces);
  }

  /// Adds what an element of the value is made of.
  void read(Id id, Share share) {
    const Value& value = plan_.values[id];
    std::visit([&](const auto& each) { read_made_of(each, share); }, value.definition);
  }
  void read_made_of(const Memory& each, Share share) { found_.push_back({name_of(each.at), share}); }
  void read_made_of(const Element& each, Share) { found_.push_back({name_of(each.at)}); }
  void read_made_of(const Received&, Share) {}
  void read_made_of(const Single& each, Share) { read_scalar(*each.term); }
  void read_made_of(const Map& each, Share share) {
    for (const std::optional<Id>& argument : each.arguments) {
      if (argument) read(*argument, share);
    }
    read_function(*each.term->function, {&each, share});
  }
  void read_made_of(const Range&, Share) {}
  void read_made_of(const Spread& each, Share share) {
    const bool by_tiles = share == Share::kByPlaces && !each.block.dimension;
    read(each.from, by_tiles ? Share::kByBlocks : Share::kAny);
  }
  void read_made_of(const OuterProduct& each, Share) {
    read(each.left, Share::kAny);
    read(each.right, Share::kAny);
  }
  void read_made_of(const Reduced& each, Share) { found_.push_back({name_of(address_of(each.slot))}); }
  void read_made_of(const KthLargest& each, Share) {
    found_.push_back({name_of(address_of(plan_.searches[each.search].selection))});
  }

  void read_function(const Body& body, const MapElements& of) {
    for (const compll::Step& step : body.steps) read_scalar(*step.value, of);
    for (const TermPtr& result : body.results) read_scalar(*result, of);
  }
  void read_scalar(const Term& term, const MapElements& of = {}) {
    if (term.op == Op::kSize) return;
    if (term.op == Op::kElement) {
      read_picked(term, of);
      return read_scalar(*term.arguments[1], of);
    }
    if (const std::optional<Id> value = value_of(term)) return read(*value, Share::kAny);
    for (const TermPtr& argument : term.arguments) read_scalar(*argument, of);
  }
  /// `array[place]`, the place being an element of the map's argument, is an element of one tile.
  void read_picked(const Term& term, const MapElements& of) {
    const std::optional<Id> array = value_of(*term.arguments[0]);
    if (!array) return;
    const std::size_t begin = found_.size();
    read(*array, Share::kAny);
    const Term* index = term.arguments[1].get();
    while (index->op == Op::kConvert && index->type().element.is_integer()) index = index->arguments[0].get();
    if (of.map == nullptr || index->op != Op::kVariable || plan_.values[*array].is_computed()) return;
    const std::vector<VariableId>& parameters = of.map->term->function->parameters;
    const auto found = std::find(parameters.begin(), parameters.end(), index->variable);
    if (found == parameters.end()) return;
    for (std::size_t i = begin; i < found_.size(); ++i) {
      found_[i].share = of.share;
      found_[i].at = of.map->arguments[static_cast<std::size_t>(found - parameters.begin())];
    }
  }
  std::optional<Id> value_of(const Term& term) const {
    if (term.op == Op::kVariable) {
      const auto found = plan_.of_variable.find(term.variable);
      return found == plan_.of_variable.end() ? std::nullopt : std::optional<Id>(found->second);
    }
    const auto found = plan_.of_term.find(&term);
    return found == plan_.of_term.end() ? std::nullopt : std::optional<Id>(found->second);
  }
  void read_initial(const Reduction& by) {
    if (by.term->arguments.size() > 1) read_scalar(*by.term->arguments[1]);
  }

  void write(const Address& to, Share share, std::optional<Id> at = {}) {
    found_.push_back({name_of(to), share, at, true});
  }
  void write(SpaceId space) { write(address_of(space), Share::kAny); }
  void update(SpaceId space) { found_.push_back({name_of(address_of(space)), Share::kAny, {}, true, true}); }

  static Address address_of(SpaceId space) { return {Address::Base::kWorkspace, 0, kFloatType, space}; }
  /// The result may be made in the memory of the vector that a turn, or the function `result`, is given.
  MemoryName name_of(const Address& address) const {
    if (address.base == Address::Base::kWorkspace) return {address.base, *address.space};
    if (address.base == Address::Base::kResult) return {Address::Base::kGiven, 0};
    return {address.base, address.index};
  }

  static constexpr Address kInput{Address::Base::kInput, 0, kFloatType, {}},
      kGiven{Address::Base::kGiven, 0, kFloatType, {}}, kResult{Address::Base::kResult, 0, kFloatType, {}};
  const Routine& plan_;
  std::vector<Access> found_;
};

}  // namespace

std::vector<Access> accesses_of(const Routine& routine, const Work& work) { return WorkAccesses(routine).of(work); }

std::string text_of(const Routine& routine, const MemoryName& memory) {
  const std::string index = " " + std::to_string(memory.index);
  switch (memory.base) {
    case Address::Base::kWorkspace: return routine.workspace[memory.index].word;
    case Address::Base::kInput: return "the input";
    case Address::Base::kGiven: return "the given vector";
    case Address::Base::kResult: return "the result";
    case Address::Base::kStateIn: return "the earlier state" + index;
    case Address::Base::kStateOut: return "state" + index;
    case Address::Base::kExchanged: return "exchange" + index;
    case Address::Base::kStored: return "stored value" + index;
  }
  return "";
}

}  // namespace casync::compll::cuda_vector
