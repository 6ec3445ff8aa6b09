// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/view.h"
#include "casync/graph/task_graph.h"
#include "casync/model/gradient.h"
#include "casync/model/plan.h"
#include "compll/codec/codec.h"
#include "runtime/executor/arrivals.h"
#include "runtime/executor/asynchronous_step.h"
#include "runtime/executor/bundle.h"
#include "runtime/executor/hop_codecs.h"
#include "runtime/executor/kept_state.h"
#include "runtime/executor/related_runs.h"
#include "runtime/executor/result_scale.h"
#include "runtime/executor/rounds_run.h"
#include "runtime/executor/run_buffers.h"
#include "runtime/executor/run_facts.h"
#include "runtime/executor/run_on_device.h"
#include "runtime/executor/run_step.h"
#include "runtime/executor/run_tasks.h"

namespace casync::runtime {

class Answering;

/// The parts that only some gradients' runs have; null: this one has none.
struct RunExtras {
  RunExtras();
  RunExtras(RunExtras&&) noexcept;
  ~RunExtras();

  std::unique_ptr<RoundsRun> rounds;               ///< for a codec of rounds
  std::unique_ptr<Answering> answering;            ///< for an owner's side
  std::unique_ptr<AsynchronousStep> asynchronous;  ///< for asynchronous ranks
};

/// One gradient as the executor sees it. Each part has one subject, and its functions are the events that change it
/// (docs/threads.md).
///
/// Threads: the constructor's until Executor::take_in(); then the progress thread's, unless a comment says
/// otherwise. Tasks of one gradient that run on streams touch disjoint buffers and slices.
class GradientRun : public RunFacts {
 public:
  GradientRun(GradientSpec specification, Decision made, TaskGraph plan_graph, HopCodecs hop_codecs, RunName name,
              RunExtras extras = {});
  /// A bundle of runs that outlive it: what group_small() puts together.
  explicit GradientRun(std::span<GradientRun* const> members);
  ~GradientRun();

  const compll::Codec& codec(Hop hop) const { return codecs->of(hop); }
  const compll::Codec& codec_of(BufferId buffer) const { return codec(buffers.of(buffer).hop); }
  const RunBuffers::State& state(BufferId buffer) const { return buffers.state(buffer); }
  /// The parts: each member of a bundle; the run itself if it is no bundle.
  std::size_t part_count() const { return parts ? parts->members().size() : 1; }
  GradientRun& part(std::size_t at) { return parts ? *parts->members()[at].run : *this; }
  Slice part_slice(std::size_t at, Slice slice) const {
    return parts ? Slice{0, parts->members()[at].elements} : slice;
  }
  /// The gradient's own memory of `slice`, on the host.
  View memory(Slice slice) const { return step.data().slice(slice.first * width, slice.count * width); }
  /// Null: this rank owns no partition that asynchronous ranks contribute to.
  GradientRun* owner_side() const { return asynchronous ? asynchronous->owner_side() : nullptr; }

  /// Once, ahead of the first step: the gradient is in a device's memory, so that no payload lies there.
  void move_to_device();
  /// The next step is `next`: the session's, while none is under way.
  void go_to(std::uint32_t next);
  /// Sets all parts for a new step over `data`.
  void begin(std::uint32_t number, View data);
  /// The run that this gradient waits for: itself, its bundle, its warm-up, or the exchange between two turns.
  const GradientRun& under_way() const;
  /// Calls visit(GradientRun&) for this one and all that belong to it.
  template <class Visit>
  void for_each(Visit visit) {
    visit(*this);
    related.for_each(visit, [&](GradientRun& one) { one.for_each(visit); });
    if (GradientRun* const side = owner_side()) visit(*side);
    if (!rounds) return;
    for (const std::unique_ptr<GradientRun>& one : rounds->exchanges()) visit(*one);
  }

  // The beginning and the end of a small gradient's step in a bundle touch two cache lines and no others, and its tasks
  // none (Bundle::Member): thousands of gradients do not fit into a cache otherwise. One line has its names and what it
  // keeps, and one these two.
  KeptState kept;
  alignas(64) BundleSeat seat;
  RunStep step;

  const std::shared_ptr<const HopCodecs> codecs;         ///< a bundle's are those of its first member
  const std::unique_ptr<Bundle> parts;                   ///< null but for a bundle
  const std::unique_ptr<RoundsRun> rounds;               ///< null but for a codec of rounds
  const std::unique_ptr<Answering> answering;            ///< null but for an owner's side
  const std::unique_ptr<AsynchronousStep> asynchronous;  ///< null but for asynchronous ranks
  RelatedRuns related;
  ResultScale scale;
  RunBuffers buffers;
  RunTasks tasks;
  Arrivals arrivals;
  RunOnDevice device;
  ExposedTime exposed;
};

/// Fetches what a step touches of `run`.
inline void fetch_step_of(const GradientRun* run) {
  __builtin_prefetch(&run->seat, 1);
  __builtin_prefetch(&run->key, 1);
}

}  // namespace casync::runtime
