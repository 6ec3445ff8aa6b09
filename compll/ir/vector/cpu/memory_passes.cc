// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cpu/memory_passes.h"

#include "compll/ops/trits.h"

namespace casync::compll::cpu_whole {
namespace {

/// Goes through the items in order, with the memory that an element of each array is made of.
class MemoryPasses {
 public:
  explicit MemoryPasses(Routine& plan) : plan_(plan), program_(*plan.program) {}

  void run() {
    for (const Item& item : plan_.items) std::visit([&](const auto& each) { count(each); }, item);
  }

 private:
  using Bytes = std::map<std::string, double>;

  // Definitions: the memory that they read.
  void count(const Definition& definition) {
    std::visit([&](const auto& each) { define(each); }, definition);
  }
  void define(const Input& each) {
    memory_[each.array] = of_itself(each.array, 4);
    if (program_.declares.feedback) memory_[each.array]["residual"] = 4;
  }
  void define(const Given& each) { memory_[each.array] = of_itself(each.array, 4); }
  void define(const Received& each) {
    if (!is_of_all(each.value)) return;
    const Type& type = plan_.values[each.value].type;
    memory_[each.value] = of_itself(each.value, bits_per_element(type.element.bits) / 8);
  }
  void define(const Map& each) {
    for (const std::optional<Id>& from : each.arguments) {
      if (from) made_of_[each.array].push_back(*from);
    }
  }
  void define(const Part& each) { made_of_[each.array] = {each.all}; }
  /// Until its loop ends, the array has just been computed.
  void define(const Keep& each) {
    if (is_of_all(each.array)) made_of_[each.array] = {each.from};
  }
  template <class Other>
  void define(const Other&) {}

  // Loops of their own.
  void count(const Call& call) {
    std::visit([&](const auto& each) { call_of(each); }, call);
  }
  void call_of(const Where& each) { pass_of_operand("`where`", each.from); }
  void call_of(const Sort& each) { pass_of_operand("`sort`", each.from); }
  void call_of(const Histogram& each) { pass_of_operand("`histogram`", each.from); }
  void call_of(const Reduce& each) { pass_of_operand("`reduce`", each.from); }
  void call_of(const ScatterMemory& each) {
    if (!is_of_all(each.array)) return;
    pass(word(each.array) + " is kept", each.into ? bytes(*each.into) : 0, 4);
  }
  void call_of(const Scatter& each) {
    if (is_of_all(each.array)) memory_[each.array] = of_itself(each.array, 4);
  }
  template <class Other>
  void call_of(const Other&) {}

  void count(const GiveList& each) { pass("zeros, then values at their places", bytes(each.places), 4); }
  void count(const GiveCopied& each) {
    pass("elements are made", bytes(each.from), 4);
    pass("elements are copied", 0, 8);
  }

  void count(const ElementLoop& loop) {
    joined_ = {};
    read_ = {};
    kept_.clear();
    for (const Work& work : loop.works) {
      std::visit([&](const auto& kind) { std::visit([&](const auto& each) { join(each); }, kind); }, work.what);
    }
    double read = 0;
    for (const auto& [memory, bytes] : read_) read += bytes;
    if (read != 0 || joined_.written != 0) plan_.loops.push_back({joined_.what, read, joined_.written});
    for (const Id array : kept_) memory_[array] = of_itself(array, 4);
  }
  void join(const TakeInput& each) {
    note("", each.array, program_.declares.feedback ? 4 : 0);
    kept_.push_back(each.array);
  }
  void join(const KeepElements& each) {
    note(word(each.array) + " is kept", each.from, bits_per_element(plan_.values[each.array].type.element.bits) / 8);
    kept_.push_back(each.array);
  }
  void join(const CopyElements& each) {
    const Copy& copy = each.copy;
    const bool is_float = !copy.scatter || plan_.values[*copy.scatter].type.element == kFloatType;
    note(is_float ? word(copy.from) + " is kept" : "`" + name_of(plan_.values[copy.from]) + "` is copied", copy.from,
         4);
  }
  void join(const FeedSearch& each) { note("`" + std::string(name_of(each.op)) + "`", each.from, 0); }
  void join(const FeedReducer& each) { note("`reduce`", each.from, 0); }
  void join(const StoreCodes& each) {
    const Section& section = program_.sections[each.section];
    note("section `" + section.name + "`", each.from, bits_per_element(section.type.element.bits) / 8);
  }
  void join(const StoreState& each) { note("state `" + program_.states[each.state].name + "`", each.from, 4); }
  void join(const GiveElements& each) {
    note(plan_.role == Role::kResult ? "elements are made" : "elements are given", each.from, 4);
  }
  void join(const ReduceBlocks& each) { note(word(each.array), each.from, 0); }
  void join(const ComputeBlocks&) {}
  void join(const RotateBlocks& each) {
    note("`hadamard`", each.from, 4);
    kept_.push_back(each.array);
  }
  template <class Other>
  void count(const Other&) {}

  bool is_of_all(Id id) const { return plan_.values[id].type.is_over(Extent::Kind::kElements); }
  /// The program's name for an array.
  std::string word(Id id) const { return "`" + plan_.values[id].word + "`"; }
  Bytes of_itself(Id id, double bytes) const { return {{name_of(plan_.values[id]), bytes}}; }
  /// The bytes that an element of the array reads, by the memory that they come from.
  Bytes reads(Id id) const {
    if (const auto found = memory_.find(id); found != memory_.end()) return found->second;
    Bytes all;
    const auto made_of = made_of_.find(id);
    if (made_of == made_of_.end()) return all;
    for (const Id from : made_of->second) all.merge(reads(from));
    return all;
  }
  double bytes(Id id) const {
    double all = 0;
    for (const auto& [memory, bytes] : reads(id)) all += bytes;
    return all;
  }

  void pass(const std::string& what, double read, double written) { plan_.loops.push_back({what, read, written}); }
  void pass_of_operand(const std::string& what, Id from) {
    if (is_of_all(from)) pass(what, bytes(from), 0);
  }
  /// Notes work of the loop.
  void note(const std::string& what, Id from, double written) {
    if (!what.empty()) joined_.what += (joined_.what.empty() ? "" : ", ") + what;
    for (const auto& [memory, bytes] : reads(from)) read_[memory] = bytes;
    joined_.written += written;
  }

  Routine& plan_;
  const Program& program_;
  std::map<Id, Bytes> memory_;             ///< what an element of an array in memory reads
  std::map<Id, std::vector<Id>> made_of_;  ///< of arrays that are computed where they are used
  Loop joined_;
  Bytes read_;
  std::vector<Id> kept_;
};

}  // namespace

void count_memory_passes(Routine& plan) { MemoryPasses(plan).run(); }

}  // namespace casync::compll::cpu_whole
