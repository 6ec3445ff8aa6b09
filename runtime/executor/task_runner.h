// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/status.h"
#include "compll/codec/batch.h"
#include "compll/codec/codec.h"
#include "runtime/executor/gradient_run.h"

namespace casync::runtime {

/// Memory of one thread that runs tasks, big enough for the largest partition ahead of the first step.
struct Scratch {
  std::vector<float> values;  ///< float32 image of one partition of a half-precision gradient
  // A partition's state for a codec that neither reads nor writes it in place.
  std::vector<float> kept_in, kept_out;
  std::vector<std::byte> kept_code;  ///< kept_out, rounded
  std::vector<compll::Contribution> contributions;
  // The parts of a bundle.
  std::vector<compll::EncodeJob> encodes;
  std::vector<compll::DecodeJob> decodes;
};

/// The outcome of an encode, merge or decode.
struct TaskOutcome {
  Status status;
  Bytes bytes = 0;  ///< of the payload made
  bool finite = true;
};

/// The outcome of an Encode or Decode that moves no byte (RunTasks::is_instant).
TaskOutcome run_instant_task(GradientRun& run, TaskId task);

/// Runs any other Encode, Merge or Decode whose buffers have their memory, or of a codec of rounds the turn under way.
/// Any thread; `scratch` is that thread's. DataLoss: a payload that came from another rank is not what its codec makes;
/// names gradient and partition.
TaskOutcome run_task(GradientRun& run, TaskId task, std::uint64_t seed, float scale, Scratch& scratch);

/// Looks at a payload that came from another rank, once. DataLoss: it is not what its codec makes; names gradient and
/// partition.
Status check_payload(GradientRun& run, BufferId id);
/// The same of a payload that kernels read: of one with coded sections only its size and header, the rest is theirs.
Status check_for_kernels(GradientRun& run, BufferId id);

/// Returns true if `sum`, which a merge makes, is a shard's sum that is rounded to half precision next. Only its owner
/// decodes it and the others hear of the merge, so the merge looks if it stays finite. A result that the codec makes of
/// the sum is not known by then.
bool is_rounded_shard(const GradientRun& run, BufferId sum);

/// The source of a random codec's numbers on rank `self`, for `slice` of the gradient with this key in a step.
compll::EncodeContext context_of(Rank self, std::uint64_t key, std::uint32_t step, const compll::CodecInfo& codec,
                                 KeptBy use, Slice slice, std::uint64_t seed);
/// The same in the step of `run` that is under way.
compll::EncodeContext context_of(const GradientRun& run, const compll::CodecInfo& codec, KeptBy use, Slice slice,
                                 std::uint64_t seed);

/// Makes room in `scratch` for every task of `run`.
void reserve_scratch(const GradientRun& run, int ranks, Scratch& scratch);

}  // namespace casync::runtime
