// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/progress_parts.h"

#include <utility>

#include "casync/graph/layout.h"
#include "runtime/executor/keep_for_ever.h"

namespace casync::runtime {

ProgressParts::ProgressParts(const ExecutorOptions& executor_options, Transport& transport, Device& device,
                             Requests& requests, Waiters& waiters, Failures& failures, WorkRecord& record,
                             const ExecutorEvents& events)
    : options(executor_options),
      arena(device),
      links(options, transport, Messages::outgoing),
      steps(transport, arena, ready, computing, asynchronous, bundles, missing, waiters, failures, record),
      computing(options, device, transport, ready, steps, failures, record),
      asynchronous(options, transport, ready, steps, failures, record),
      bundles(options, device, transport, arena, runs, ready, steps, messages, waiters, failures),
      comparisons(options, transport, requests, runs, computing, events, failures),
      left(runs, asynchronous, failures),
      missing(options, transport, runs, computing, asynchronous, waiters, record, events),
      messages(runs, links, steps, asynchronous, bundles, comparisons, failures, record, events) {}

Status ProgressParts::take_in(std::vector<std::unique_ptr<GradientRun>> gradients) {
  std::vector<GradientRun*> all;
  for (const std::unique_ptr<GradientRun>& gradient : gradients) {
    gradient->for_each([&](GradientRun& one) { all.push_back(&one); });
  }
  CASYNC_RETURN_IF_ERROR(runs.check(all));
  std::vector<std::unique_ptr<GradientRun>> made;
  if (computing.rounds() == nullptr) made = bundles.make(all);
  for (const std::unique_ptr<GradientRun>& bundle : made) all.push_back(bundle.get());
  CASYNC_RETURN_IF_ERROR(computing.take_in(all));
  if (computing.rounds() == nullptr) CASYNC_RETURN_IF_ERROR(make_room(all));
  runs.add(all);
  for (GradientRun* run : all) {
    if (run->asynchronous) asynchronous.take_in(*run);
  }
  runs.own(std::move(gradients));
  bundles.take_in(std::move(made));
  return Status::ok();
}

/// Memory for the messages of these runs, and room in the queues for their tasks.
Status ProgressParts::make_room(std::span<GradientRun* const> all) {
  std::vector<const TaskGraph*> graphs;
  std::vector<const GradientRun*> of_graph;
  for (const GradientRun* run : all) {
    if (run->buffers.borrows_slots()) continue;
    graphs.push_back(&run->graph);
    of_graph.push_back(run);
  }
  CASYNC_RETURN_IF_ERROR(arena.add(lay_out(graphs, [&](std::size_t which, const Buffer& buffer) -> Bytes {
    const GradientRun& run = *of_graph[which];
    const auto id = BufferId(static_cast<std::uint32_t>(&buffer - run.graph.buffers().data()));
    return run.buffers.is_in_gradient(id) ? 0 : run.buffers.bound_of(id);
  })));
  ready.reserve(all);
  links.reserve(all);
  return Status::ok();
}

void ProgressParts::keep_memory() {
  struct Kept {
    Arena arena;
    std::vector<std::unique_ptr<GradientRun>> gradients;
    Bundles::Memory bundles;
  };
  keep_for_ever(std::make_shared<Kept>(Kept{std::move(arena), runs.release(), bundles.release()}));
}

}  // namespace casync::runtime
