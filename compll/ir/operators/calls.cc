// SPDX-License-Identifier: Apache-2.0
//
// The plans of operators that are one call.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "compll/ir/rounds/cpu/layout.h"
#include "compll/ir/vector/cpu/fuse_loops.h"
#include "compll/ir/vector/cpu/operators.h"
#include "compll/ir/vector/cuda/operators.h"
#include "compll/ir/vector/cuda/ready.h"
#include "compll/ir/vector/cuda/staging.h"
#include "compll/ir/vector/cuda/tasks.h"
#include "compll/lang/terms.h"

namespace casync::compll::cpu_vector {

void define_call(Fusion& fusion, Id to, const Term& term) {
  const std::string name(name_of(term.op));
  Apply call{to, name, {}, {}, name + " of", {}, term.op};
  for (const TermPtr& argument : term.arguments) {
    if (argument->type().is_array()) {
      const Id from = fusion.arrays.whole_array(*argument);
      call.arguments.push_back(SizeOf{argument->type()});
      call.arguments.push_back(from);
      call.reads.push_back(from);
    } else {
      fusion.singles.prepare(*argument);
      fusion.singles.check(*argument);
      call.arguments.push_back(argument.get());
    }
    call.words += " {" + std::to_string(call.arguments.size() - 1) + "}";
  }
  call.arguments.push_back(SizeOf{term.type()});
  call.arguments.push_back(Workspace{});
  if (term.type().is_over(Extent::Kind::kElements)) call.writes = 4;
  fusion.add(std::move(call));
}

}  // namespace casync::compll::cpu_vector

namespace casync::compll::cuda_vector {

Id plan_call(Staging& staging, const Term& term, const std::string& name) {
  Routine& plan = staging.plan;
  const ArrayTraits& traits = operation_of(term.op).traits;
  const Type& type = term.type();
  const SpaceId to = take_elements(plan, name, type, traits.adds ? Zeros::kCleared : Zeros::kNone);
  const std::string function(name_of(term.op));
  Apply call{function, {ShareOf{term.arguments.front()->type()}}, function + " of"};
  std::uint32_t stage = 0;
  for (const TermPtr& argument : term.arguments) {
    if (argument->type().is_array()) {
      call.arguments.push_back(SizeOf{argument->type()});
      call.arguments.push_back(ElementsOf{value_of(plan, *argument)});
    } else {
      check(*argument);
      call.arguments.push_back(argument.get());
    }
    call.words += " {" + std::to_string(call.arguments.size() - 1) + "}";
    const bool by_share = traits.by_share && argument == term.arguments.front();
    stage = std::max(stage, by_share ? ready_to_share(plan, *argument) : ready(plan, *argument).all);
  }
  call.arguments.push_back(SizeOf{type});
  call.arguments.push_back(MemoryOf{to, type.element});
  call.words += " into {" + std::to_string(call.arguments.size() - 1) + "}";
  add(plan, stage, std::move(call));
  return add_memory(plan, name, type, address_of(to, type.element), {stage + 1, stage + 1});
}

}  // namespace casync::compll::cuda_vector
