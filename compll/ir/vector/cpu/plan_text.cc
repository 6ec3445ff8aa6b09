// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cpu/plan_text.h"

namespace casync::compll::cpu_whole {
namespace {

std::string text_of_block(const Program& program, const Constant& block) {
  return block.parameter ? program.parameters[*block.parameter].name : std::to_string(block.value);
}

std::string word_of(Storage storage) {
  switch (storage) {
    case Storage::kNowhere: return "where it is used";
    case Storage::kGathered: return "gathered";
    case Storage::kBlocks: return "once for each block";
    case Storage::kMemory: return "once, into memory";
  }
  return "";
}

/// The text of items, with the names of values.
class PlanText {
 public:
  explicit PlanText(const Routine& plan) : plan_(plan), program_(*plan.program) {}

  std::string run() {
    write_decisions();
    for (const Item& item : plan_.items) std::visit([&](const auto& each) { write(each); }, item);
    for (const Loop& loop : plan_.loops) {
      line("pass: reads " + bytes(loop.read) + ", writes " + bytes(loop.written) + (loop.what.empty() ? "" : ": ") +
           loop.what);
    }
    return std::move(text_);
  }

 private:
  void write_decisions() {
    for (const auto& [id, scatters] : plan_.copied_by) {
      for (const VariableId scatter : scatters) {
        line(name_of(program_, scatter) + " begins as a copy of " + name_of(program_, id));
      }
    }
    for (const Step& step : plan_.routine->steps) {
      const auto found = plan_.storage.find(step.value.get());
      const VariableId first = step.variables.front();
      if (found == plan_.storage.end() || step.variables.size() > 1 || plan_.uses[first] == 0) continue;
      line(name_of(program_, first) + ": " + word_of(found->second) +
           (plan_.one_by_one.count(step.value.get()) != 0 ? ", element by element" : "") +
           (plan_.called.count(step.value.get()) != 0 ? ", called" : ""));
    }
    for (const VariableId id : plan_.kept_parts) line(name_of(program_, id) + ": once, into memory");
  }

  void write(const Statement&) {}
  void write(const Single& each) { line(name(each.value) + " = " + text_of(program_, *each.term)); }
  void write(const Definition& definition) {
    line(std::visit([&](const auto& each) { return text(each); }, definition));
  }
  void write(const Call& call) {
    line(std::visit([&](const auto& each) { return text(each); }, call));
  }
  void write(const ElementLoop& loop) {
    std::string tiles;
    for (const Constant& block : loop.blocks) tiles += (tiles.empty() ? "" : ", ") + text_of_block(program_, block);
    line("loop " + std::to_string(loop.number) + (loop.has_tiles() ? ", by tiles" : "") +
         (tiles.empty() ? "" : " of blocks of " + tiles));
    for (std::size_t phase = 0; phase < loop.phases; ++phase) {
      if (loop.has_tiles()) line("  phase " + std::to_string(phase));
      const std::string deep = loop.has_tiles() ? "    " : "  ";
      write_works<ElementWork>(loop, phase, deep);
      if (phase == loop.fetches_in && !loop.fetched.empty()) line(deep + "fetch" + names(loop.fetched));
      write_works<BlockWork>(loop, phase, deep);
    }
  }
  template <class Kind>
  void write_works(const ElementLoop& loop, std::size_t phase, const std::string& deep) {
    for (const Work& work : loop.works) {
      const Kind* here = work.phase == phase ? std::get_if<Kind>(&work.what) : nullptr;
      if (here != nullptr) line(deep + std::visit([&](const auto& each) { return text(each); }, *here));
    }
  }
  void write(const StoreOne& each) { line("send " + section(each.section) + " = " + text_of(program_, *each.term)); }
  void write(const StoreAll& each) { line("send " + section(each.section) + " = " + name(each.from)); }
  void write(const GiveList& each) {
    line("give a list of places " + name(each.places) + ", values " + values(each.values, *each.term));
  }
  void write(const GiveCopied& each) { line("give " + name(each.from) + ", by way of memory"); }

  // Definitions.
  std::string text(const Input& each) { return "input " + name(each.array) + " in loop " + std::to_string(each.loop); }
  std::string text(const Given& each) {
    return name(each.array) + " = " + (each.state ? "state " + state(*each.state) : "the decoded vector");
  }
  std::string text(const Received& each) { return name(each.value) + " = section " + section(each.section); }
  std::string text(const Map& each) {
    std::string from;
    for (const std::optional<Id>& argument : each.arguments) from += argument ? " " + name(*argument) : "";
    return name(each.array) + " = a function of" + (from.empty() ? " nothing" : from) +
           (each.draws.empty() ? "" : ", draws") + (each.sixteen ? "" : ", element by element") +
           (each.called ? ", called" : "");
  }
  std::string text(const Part& each) {
    return name(each.array) + " = result " + std::to_string(each.result) + " of " + name(each.all);
  }
  std::string text(const Range& each) { return name(each.array) + " = places"; }
  std::string text(const Spread& each) {
    return name(each.array) + " = " + name(each.from) + " for each element of blocks of " +
           text_of_block(program_, each.block);
  }
  std::string text(const Gather& each) {
    return name(each.array) + " = " + (each.is_copy ? "the copy in " : "") + name(each.from) + " at " +
           name(each.places);
  }
  std::string text(const Keep& each) { return name(each.array) + " = memory for " + name(each.from); }
  std::string text(const Copy& each) {
    return copied(each) + " = memory for " + name(each.from) +
           (each.state ? ", that of state " + state(*each.state) : "");
  }
  std::string text(const BlockMemory& each) { return name(each.array) + " = memory for blocks"; }
  std::string text(const RotatedMemory& each) { return name(each.array) + " = memory for a rotation"; }
  std::string text(const StateMemory& each) { return "memory of state " + state(each.state); }

  // Calls.
  std::string text(const Function& each) { return name(each.name) + " = a function of two elements"; }
  std::string text(const Key& each) { return name(each.key) + " = the key of " + name(each.from); }
  std::string text(const Select& each) {
    return name(each.value) + " = " + std::string(name_of(each.term->op)) + " by " + name(each.key);
  }
  std::string text(const Search& each) {
    return "begin " + name(each.search) + " by " + name(each.key) + (each.is_sampled ? ", from a sample" : "");
  }
  std::string text(const Found& each) { return name(each.value) + " = the result of " + name(each.search); }
  std::string text(const Where& each) { return name(each.array) + " = where " + name(each.from); }
  std::string text(const Sort& each) {
    return name(each.array) + " = sort " + name(each.from) + (each.function ? " by " + name(*each.function) : "");
  }
  std::string text(const Histogram& each) { return name(each.array) + " = histogram of " + name(each.from); }
  std::string text(const Rotate& each) { return name(each.array) + " = hadamard of " + name(each.from); }
  std::string text(const ScatterMemory& each) {
    return name(each.array) + " = memory" + (each.state ? " of state " + state(*each.state) : "") + " with " +
           (each.into ? name(*each.into) : "zeros");
  }
  std::string text(const Scatter& each) {
    return std::string(name_of(each.term->op)) + " " + values(each.values, *each.term) + " into " + name(each.array) +
           " at " + name(each.places);
  }
  std::string text(const OpenReducer& each) { return "begin " + name(each.value); }
  std::string text(const Reduced& each) { return "end " + name(each.value); }
  std::string text(const Reduce& each) {
    return name(each.value) + " = reduce " + name(each.from) + (each.function ? " by " + name(*each.function) : "");
  }

  // Work of loops.
  std::string text(const TakeInput& each) { return "take " + name(each.array) + ", checked"; }
  std::string text(const KeepElements& each) { return "store " + name(each.array) + " = " + name(each.from); }
  std::string text(const CopyElements& each) { return "store " + copied(each.copy) + " = " + name(each.copy.from); }
  std::string text(const FeedSearch& each) { return "feed " + name(each.search) + " = " + name(each.key); }
  std::string text(const FeedReducer& each) { return "feed " + name(each.value) + " = " + name(each.from); }
  std::string text(const StoreCodes& each) { return "send " + section(each.section) + " = " + name(each.from); }
  std::string text(const StoreState& each) { return "store state " + state(each.state) + " = " + name(each.from); }
  std::string text(const GiveElements& each) { return "give " + name(each.from); }
  std::string text(const ReduceBlocks& each) {
    return "for each block " + name(each.array) + " = reduce " + name(each.from);
  }
  std::string text(const ComputeBlocks& each) { return "for each block " + name(each.array) + " = " + name(each.from); }
  std::string text(const RotateBlocks& each) {
    return "for each block " + name(each.array) + " = hadamard of " + name(each.from);
  }

  void line(const std::string& text) { text_ += "  " + text + "\n"; }
  std::string name(Id id) const { return cpu_whole::name_of(plan_.values[id]); }
  std::string names(const std::vector<Id>& ids) const {
    std::string all;
    for (const Id id : ids) all += " " + name(id);
    return all;
  }
  std::string section(std::size_t index) const { return program_.sections[index].name; }
  std::string state(std::size_t index) const { return "`" + program_.states[index].name + "`"; }
  std::string copied(const Copy& copy) const {
    return copy.scatter ? name(*copy.scatter) : "a copy of " + name(copy.from);
  }
  std::string values(const std::optional<Id>& values, const Term& scatter) const {
    return values ? name(*values) : text_of(program_, *scatter.arguments[1]);
  }
  static std::string bytes(double value) {
    const std::string text = std::to_string(value);
    return text.substr(0, text.find('.') + 3);
  }

  const Routine& plan_;
  const Program& program_;
  std::string text_;
};

}  // namespace

std::string text_of(const Routine& plan) { return PlanText(plan).run(); }

std::string text_of(const Plan& plan) {
  std::string text;
  for (const Routine* routine : routines_of(plan)) text += routine->name + "\n" + text_of(*routine);
  return text;
}

}  // namespace casync::compll::cpu_whole
