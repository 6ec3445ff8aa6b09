// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cpu/plan.h"

#include <utility>

#include "compll/ir/cannot_plan.h"
#include "compll/ir/vector/cpu/fuse_loops.h"
#include "compll/ir/vector/cpu/memory_passes.h"
#include "compll/ir/vector/cpu/storage.h"
#include "compll/ir/vector/cpu/uses.h"
#include "compll/ir/vector/distinct_places.h"

namespace casync::compll::cpu_vector {
namespace {

/// The size of blocks that sections have. Unimplemented: there are two.
Result<std::optional<Constant>> shared_block(const Program& program, const Source& source) {
  std::optional<Constant> shared;
  for (const Section& section : program.sections) {
    if (!section.type.is_over(Extent::Kind::kBlocks)) continue;
    if (shared && *shared != section.type.extent->count) {
      return unimplemented(source.name() + ": sections for blocks of two sizes cannot be compiled, only interpreted");
    }
    shared = section.type.extent->count;
  }
  return shared;
}

}  // namespace

std::string name_of(const Value& value) {
  return value.word + (value.is_temporary ? "_t" : "_") + std::to_string(value.number);
}

void Routine::add(Item&& item) { items.push_back(std::move(item)); }

bool gives_list(const Program& program) {
  const Term& given = *program.decode.result;
  return given.op == Op::kScatter && given.arguments.size() == 2;
}

const std::vector<Pass>& passes() {
  static const std::vector<Pass> all = {
      {"count uses", &count_uses},
      {"find copies", &find_copies},        // scatters into an array
      {"choose storage", &choose_storage},  // by uses and by the cost of an element
      {"find widths", &find_widths},        // maps of single doubles, and long ones
      {"fuse loops", &fuse_loops},          // refuses what the CPU does not have
      {"count memory passes", &count_memory_passes},
  };
  return all;
}

Routine routine_of(const Program& program, const std::string& name) {
  Routine plan;
  plan.program = &program;
  plan.name = name;
  plan.routine = name == "encode"   ? &program.encode
                 : name == "merge"  ? &*program.merge
                 : name == "decode" ? &program.decode
                                    : &*program.result;
  if (name == "decode") plan.role = gives_list(program) ? Role::kList : Role::kDecode;
  if (name == "result") plan.role = Role::kResult;
  return plan;
}

Result<Plan> plan_vector(const Program& program, const Source& source) {
  const Result<std::optional<Constant>> block = shared_block(program, source);
  if (!block) return block.status();
  const auto planned = [&](const std::string& name) {
    Routine plan = routine_of(program, name);
    for (const Pass& pass : passes()) pass.run(plan);
    return plan;
  };
  try {
    Plan plan;
    plan.program = &program;
    plan.block = *block;
    plan.has_distinct_places =
        gives_list(program) && receives_distinct_places(program, program.decode, *program.decode.result->arguments[0]);
    if (plan.has_distinct_places) plan.list_sections = sections_of_scatter(program.decode, *program.decode.result);
    plan.encode = planned("encode");
    if (program.merge) plan.merge = planned("merge");
    plan.decode = planned("decode");
    if (program.result) plan.result = planned("result");
    return plan;
  } catch (const CannotPlan& refusal) {
    return status_of(refusal, source, "for the CPU, only interpreted");
  }
}

std::vector<const Routine*> routines_of(const Plan& plan) {
  std::vector<const Routine*> all = {&plan.encode};
  if (plan.merge) all.push_back(&*plan.merge);
  all.push_back(&plan.decode);
  if (plan.result) all.push_back(&*plan.result);
  return all;
}

std::vector<FunctionLoops> loops_of(const Plan& plan) {
  std::vector<FunctionLoops> all;
  for (const Routine* routine : routines_of(plan)) all.push_back({routine->name, routine->loops});
  return all;
}

}  // namespace casync::compll::cpu_vector
