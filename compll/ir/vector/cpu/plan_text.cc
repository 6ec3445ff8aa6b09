// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cpu/plan_text.h"

#include "compll/ir/filled.h"

namespace casync::compll::cpu_vector {
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

/// The names that a plan's texts have in common.
class PlanWords {
 public:
  explicit PlanWords(const Routine& plan) : plan_(plan), program_(*plan.program) {}

 protected:
  std::string name(Id id) const { return cpu_vector::name_of(plan_.values[id]); }
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

  const Routine& plan_;
  const Program& program_;
};

/// The text of a definition.
class DefinitionText : PlanWords {
 public:
  using PlanWords::PlanWords;

  std::string operator()(const Input& each) const {
    return "input " + name(each.array) + " in loop " + std::to_string(each.loop);
  }
  std::string operator()(const Given& each) const {
    return name(each.array) + " = " + (each.state ? "state " + state(*each.state) : "the decoded vector");
  }
  std::string operator()(const Received& each) const {
    return name(each.value) + " = section " + section(each.section);
  }
  std::string operator()(const Map& each) const {
    std::string from;
    for (const std::optional<Id>& argument : each.arguments) from += argument ? " " + name(*argument) : "";
    return name(each.array) + " = a function of" + (from.empty() ? " nothing" : from) +
           (each.draws.empty() ? "" : ", draws") + (each.sixteen ? "" : ", element by element") +
           (each.called ? ", called" : "");
  }
  std::string operator()(const Part& each) const {
    return name(each.array) + " = result " + std::to_string(each.result) + " of " + name(each.all);
  }
  std::string operator()(const Range& each) const { return name(each.array) + " = places"; }
  std::string operator()(const Spread& each) const {
    return name(each.array) + " = " + name(each.from) + " for each element of blocks of " +
           text_of_block(program_, each.block);
  }
  std::string operator()(const Gather& each) const {
    return name(each.array) + " = " + (each.is_copy ? "the copy in " : "") + name(each.from) + " at " +
           name(each.places);
  }
  std::string operator()(const Keep& each) const { return name(each.array) + " = memory for " + name(each.from); }
  std::string operator()(const Copy& each) const {
    return copied(each) + " = memory for " + name(each.from) +
           (each.state ? ", that of state " + state(*each.state) : "");
  }
  std::string operator()(const BlockMemory& each) const { return name(each.array) + " = memory for blocks"; }
  std::string operator()(const RotatedMemory& each) const { return name(each.array) + " = memory for a rotation"; }
  std::string operator()(const StateMemory& each) const { return "memory of state " + state(each.state); }
};

/// The text of a call of an operator.
class CallText : PlanWords {
 public:
  using PlanWords::PlanWords;

  std::string operator()(const Function& each) const { return name(each.name) + " = a function of two elements"; }
  std::string operator()(const Key& each) const { return name(each.key) + " = the key of " + name(each.from); }
  std::string operator()(const Apply& each) const {
    return name(each.value) + " = " + filled(each.words, [&](std::size_t i) {
             return std::visit([&](const auto& argument) { return text(argument); }, each.arguments[i]);
           });
  }
  std::string operator()(const Search& each) const {
    return "begin " + name(each.search) + " by " + name(each.key) + (each.is_sampled ? ", from a sample" : "");
  }
  std::string operator()(const Found& each) const { return name(each.value) + " = the result of " + name(each.search); }
  std::string operator()(const Rotate& each) const { return name(each.array) + " = hadamard of " + name(each.from); }
  std::string operator()(const ScatterMemory& each) const {
    return name(each.array) + " = memory" + (each.state ? " of state " + state(*each.state) : "") + " with " +
           (each.into ? name(*each.into) : "zeros");
  }
  std::string operator()(const Scatter& each) const {
    return std::string(name_of(each.term->op)) + " " + values(each.values, *each.term) + " into " + name(each.array) +
           " at " + name(each.places);
  }
  std::string operator()(const OpenReducer& each) const { return "begin " + name(each.value); }
  std::string operator()(const Reduced& each) const { return "end " + name(each.value); }
  std::string operator()(const Reduce& each) const {
    return name(each.value) + " = reduce " + name(each.from) + (each.function ? " by " + name(*each.function) : "");
  }

 private:
  std::string text(Id value) const { return name(value); }
  std::string text(const SizeOf& each) const { return text_of(*each.type.extent); }
  std::string text(const Term* value) const { return text_of(program_, *value); }
  std::string text(const LessOf&) const { return "a < b"; }
  std::string text(const Workspace&) const { return "memory"; }
};

/// The text of work in a loop.
class WorkText : PlanWords {
 public:
  using PlanWords::PlanWords;

  std::string operator()(const TakeInput& each) const { return "take " + name(each.array) + ", checked"; }
  std::string operator()(const KeepElements& each) const {
    return "store " + name(each.array) + " = " + name(each.from);
  }
  std::string operator()(const CopyElements& each) const {
    return "store " + copied(each.copy) + " = " + name(each.copy.from);
  }
  std::string operator()(const FeedSearch& each) const { return "feed " + name(each.search) + " = " + name(each.key); }
  std::string operator()(const FeedReducer& each) const { return "feed " + name(each.value) + " = " + name(each.from); }
  std::string operator()(const StoreCodes& each) const {
    return "send " + section(each.section) + " = " + name(each.from);
  }
  std::string operator()(const StoreState& each) const {
    return "store state " + state(each.state) + " = " + name(each.from);
  }
  std::string operator()(const GiveElements& each) const { return "give " + name(each.from); }
  std::string operator()(const ReduceBlocks& each) const {
    return "for each block " + name(each.array) + " = reduce " + name(each.from);
  }
  std::string operator()(const ComputeBlocks& each) const {
    return "for each block " + name(each.array) + " = " + name(each.from);
  }
  std::string operator()(const RotateBlocks& each) const {
    return "for each block " + name(each.array) + " = hadamard of " + name(each.from);
  }
};

/// The text of a plan, line by line.
class PlanText : PlanWords {
 public:
  using PlanWords::PlanWords;

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
  void write(const Definition& definition) { line(std::visit(DefinitionText(plan_), definition)); }
  void write(const Call& call) { line(std::visit(CallText(plan_), call)); }
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
      if (here != nullptr) line(deep + std::visit(WorkText(plan_), *here));
    }
  }
  void write(const StoreOne& each) { line("send " + section(each.section) + " = " + text_of(program_, *each.term)); }
  void write(const StoreAll& each) { line("send " + section(each.section) + " = " + name(each.from)); }
  void write(const GiveList& each) {
    line("give a list of places " + name(each.places) + ", values " + values(each.values, *each.term));
  }
  void write(const GiveCopied& each) { line("give " + name(each.from) + ", by way of memory"); }

  void line(const std::string& text) { text_ += "  " + text + "\n"; }
  static std::string bytes(double value) {
    const std::string text = std::to_string(value);
    return text.substr(0, text.find('.') + 3);
  }

  std::string text_;
};

}  // namespace

std::string text_of(const Routine& plan) { return PlanText(plan).run(); }

std::string text_of(const Plan& plan) {
  std::string text;
  for (const Routine* routine : routines_of(plan)) text += routine->name + "\n" + text_of(*routine);
  return text;
}

}  // namespace casync::compll::cpu_vector
