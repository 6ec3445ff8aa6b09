// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/program/stage_conflicts.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>

#include "compll/lang/terms.h"

namespace casync::compll::cuda_vector {
namespace {

/// The elements that a tile reads or writes: those of its share, or any.
enum class Share { kByPlaces, kByBlocks, kEqual, kAny };

/// Memory that addresses name: two addresses of one name may be the same.
struct MemoryName {
  Address::Base base = Address::Base::kWorkspace;
  std::size_t index = 0;
  bool operator==(const MemoryName&) const = default;
};

struct Access {
  MemoryName memory;
  Share share = Share::kAny;
  std::optional<Id> at = {};  ///< the elements at the places that this array has in the share
  bool writes = false;
  bool updates = false;  ///< what it reads there is of its own making

  bool is_of_one_tile(const Access& other) const {
    return share == other.share && at == other.at && share != Share::kAny;
  }
};

/// The map whose function is read, if there is one, and the share in which its elements are computed.
struct MapElements {
  const Map* map = nullptr;
  Share share = Share::kAny;
};

Share share_of(const Type& type) { return type.is_over(Extent::Kind::kSized) ? Share::kEqual : Share::kByPlaces; }

/// The accesses of a work, as the functions that kernels call make them.
class Accesses {
 public:
  explicit Accesses(const Routine& plan) : plan_(plan) {}

  std::vector<Access> of(const Work& work) {
    found_.clear();
    std::visit([&](const auto& each) { add(each); }, work);
    return found_;
  }

  std::string text(const MemoryName& memory) const {
    const std::string index = " " + std::to_string(memory.index);
    switch (memory.base) {
      case Address::Base::kWorkspace: return plan_.workspace[memory.index].word;
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

/// A work with its place in the launch.
struct Done {
  std::size_t stage = 0, number = 0;
  bool at_end = false, changes = false;
  std::vector<Access> accesses = {};

  std::string text() const { return "stage " + std::to_string(stage) + ", work " + std::to_string(number); }
  /// Returns true if tiles wait for each other between this work and a later one.
  bool is_over(const Done& later) const { return stage < later.stage || (stage == later.stage && later.at_end); }
};

class Conflicts {
 public:
  explicit Conflicts(const Routine& plan) : plan_(plan), accesses_(plan) {
    for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
      number_ = 0;
      take(stage, plan.stages[stage].by_pieces, false);
      take(stage, plan.stages[stage].at_once, false);
      take(stage, plan.stages[stage].at_end, true);
    }
  }

  std::vector<std::string> run() {
    for (std::size_t later = 0; later < all_.size(); ++later) {
      for (std::size_t earlier = 0; earlier <= later; ++earlier) check_shares(earlier, later);
      for (const Access& access : all_[later].accesses) {
        if (!access.writes) check_read(later, access);
      }
    }
    return std::move(found_);
  }

 private:
  void take(std::size_t stage, const std::vector<Work>& works, bool at_end) {
    for (const Work& work : works) {
      all_.push_back({stage, number_++, at_end, is_change_in_place(work), accesses_.of(work)});
    }
  }
  /// Returns true for work that changes an array which earlier works have read.
  bool is_change_in_place(const Work& work) const {
    if (std::holds_alternative<SubtractDecoded>(work)) return true;
    const auto* change = std::get_if<Change>(&work);
    return change != nullptr && std::any_of(plan_.changed.begin(), plan_.changed.end(), [&](const compll::Step* step) {
             return step->value.get() == change->term;
           });
  }

  /// Works of one stage that access the same memory, and do not only read it, have the same share of it.
  void check_shares(std::size_t earlier, std::size_t later) {
    const Done &one = all_[earlier], &other = all_[later];
    if (earlier != later && one.is_over(other)) return;
    for (const Access& a : one.accesses) {
      for (const Access& b : other.accesses) {
        if (a.memory != b.memory || (!a.writes && !b.writes) || a.is_of_one_tile(b)) continue;
        if (earlier == later && (a.updates || b.updates || a.writes == b.writes)) continue;
        return say(one.text() + " and " + other.text() + ": other shares of " + accesses_.text(a.memory));
      }
    }
  }

  /// What is read is written, and not changed yet.
  void check_read(std::size_t reading, const Access& read) {
    const std::string begin = all_[reading].text() + ": reads " + accesses_.text(read.memory);
    bool is_written = false;
    for (std::size_t writing = 0; writing < all_.size(); ++writing) {
      const Done& work = all_[writing];
      const bool writes = std::any_of(work.accesses.begin(), work.accesses.end(),
                                      [&](const Access& each) { return each.writes && each.memory == read.memory; });
      if (!writes) continue;
      if (work.changes && writing < reading) return say(begin + " after it is changed");
      const bool is_given = read.memory.base == Address::Base::kGiven;  // the result may overwrite it
      if (!work.changes && !is_given && writing > reading) return say(begin + " ahead of " + work.text());
      is_written = true;
    }
    const Address::Base base = read.memory.base;
    const bool is_made_here = base == Address::Base::kWorkspace || base == Address::Base::kStateOut ||
                              (base == Address::Base::kInput && plan_.role == Role::kEncode);
    if (is_made_here && !is_written) say(begin + ", which nothing writes");
  }

  void say(std::string text) {
    if (std::find(found_.begin(), found_.end(), text) == found_.end()) found_.push_back(std::move(text));
  }

  const Routine& plan_;
  Accesses accesses_;
  std::size_t number_ = 0;
  std::vector<Done> all_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> stage_conflicts(const Routine& routine) { return Conflicts(routine).run(); }

}  // namespace casync::compll::cuda_vector
