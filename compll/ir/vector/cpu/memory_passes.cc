// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cpu/memory_passes.h"

#include "compll/ir/vector/cpu/array_memory.h"
#include "compll/ops/trits.h"

namespace casync::compll::cpu_vector {
namespace {

/// The program's name for an array.
std::string word_of(const Routine& plan, Id id) { return "`" + plan.values[id].word + "`"; }

/// A loop over elements, which moves what each of its works reads and writes.
class LoopPass {
 public:
  LoopPass(const Routine& plan, const ArrayMemory& memory, const ElementLoop& loop)
      : plan_(plan), program_(*plan.program), memory_(memory) {
    for (const Work& work : loop.works) {
      std::visit([&](const auto& kind) { std::visit([&](const auto& each) { join(each); }, kind); }, work.what);
    }
    for (const auto& [from, bytes] : read_) loop_.read += bytes;
  }

  const Loop& loop() const { return loop_; }
  bool moves_anything() const { return loop_.read != 0 || loop_.written != 0; }
  /// The arrays that it stores.
  const std::vector<Id>& kept() const { return kept_; }

 private:
  void join(const TakeInput& each) {
    note("", each.array, program_.declares.feedback ? 4 : 0);
    kept_.push_back(each.array);
  }
  void join(const KeepElements& each) {
    note(word_of(plan_, each.array) + " is kept", each.from,
         bits_per_element(plan_.values[each.array].type.element.bits) / 8);
    kept_.push_back(each.array);
  }
  void join(const CopyElements& each) {
    const Copy& copy = each.copy;
    const bool is_float = !copy.scatter || plan_.values[*copy.scatter].type.element == kFloatType;
    note(is_float ? word_of(plan_, copy.from) + " is kept" : "`" + name_of(plan_.values[copy.from]) + "` is copied",
         copy.from, 4);
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
  void join(const ReduceBlocks& each) { note(word_of(plan_, each.array), each.from, 0); }
  void join(const ComputeBlocks&) {}
  void join(const RotateBlocks& each) {
    note("`hadamard`", each.from, 4);
    kept_.push_back(each.array);
  }

  /// Notes work of the loop.
  void note(const std::string& what, Id from, double written) {
    if (!what.empty()) loop_.what += (loop_.what.empty() ? "" : ", ") + what;
    for (const auto& [memory, bytes] : memory_.reads(from)) read_[memory] = bytes;
    loop_.written += written;
  }

  const Routine& plan_;
  const Program& program_;
  const ArrayMemory& memory_;
  Loop loop_;
  ArrayMemory::Bytes read_;
  std::vector<Id> kept_;
};

/// Goes through the items in order.
class MemoryPasses {
 public:
  explicit MemoryPasses(Routine& plan) : plan_(plan), memory_(plan) {}

  void run() {
    for (const Item& item : plan_.items) std::visit([&](const auto& each) { count(each); }, item);
  }

 private:
  void count(const Definition& definition) { memory_.define(definition); }

  // Loops of their own.
  void count(const Call& call) {
    std::visit([&](const auto& each) { call_of(each); }, call);
  }
  void call_of(const Apply& each) {
    const std::string what = "`" + std::string(name_of(each.op)) + "`";
    if (each.writes == 0) {
      for (const Id from : each.reads) pass_of_operand(what, from);
      return;
    }
    double read = 0;
    for (const Id from : each.reads) read += memory_.bytes(from);
    pass(what, read, each.writes);
    memory_.store(each.value, each.writes);
  }
  void call_of(const Reduce& each) { pass_of_operand("`reduce`", each.from); }
  void call_of(const ScatterMemory& each) {
    if (!memory_.is_of_all(each.array)) return;
    pass(word_of(plan_, each.array) + " is kept", each.into ? memory_.bytes(*each.into) : 0, 4);
  }
  void call_of(const Scatter& each) {
    if (memory_.is_of_all(each.array)) memory_.store(each.array, 4);
  }
  template <class Other>
  void call_of(const Other&) {}

  void count(const GiveList& each) { pass("zeros, then values at their places", memory_.bytes(each.places), 4); }
  void count(const GiveCopied& each) {
    pass("elements are made", memory_.bytes(each.from), 4);
    pass("elements are copied", 0, 8);
  }

  void count(const ElementLoop& loop) {
    const LoopPass made(plan_, memory_, loop);
    if (made.moves_anything()) plan_.loops.push_back(made.loop());
    for (const Id array : made.kept()) memory_.store(array, 4);
  }
  template <class Other>
  void count(const Other&) {}

  void pass(const std::string& what, double read, double written) { plan_.loops.push_back({what, read, written}); }
  void pass_of_operand(const std::string& what, Id from) {
    if (memory_.is_of_all(from)) pass(what, memory_.bytes(from), 0);
  }

  Routine& plan_;
  ArrayMemory memory_;
};

}  // namespace

void count_memory_passes(Routine& plan) { MemoryPasses(plan).run(); }

}  // namespace casync::compll::cpu_vector
