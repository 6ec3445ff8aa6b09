// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "runtime/device/device_memory.h"
#include "runtime/device/stream.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/kernel_queue.h"
#include "runtime/executor/round_heads.h"
#include "runtime/executor/round_parts.h"
#include "runtime/executor/round_payloads.h"
#include "runtime/executor/round_room.h"

namespace casync::runtime {

/// Computes in a bucket's rounds: tasks of graphs, turns, and results of all-reduces, as kernels and copies in a
/// stream.
///
/// Threads: the progress thread. Errors: as Stream.
class RoundTasks final : private KernelQueue {
 public:
  struct Settings {
    std::uint64_t seed = 0;
    float scale = 1;             ///< of the last merge
    const KernelTable& kernels;  ///< of the runs' codecs
  };

  /// Borrows all but `settings`. `runs`: the bucket's gradients.
  RoundTasks(std::span<GradientRun* const> runs, const Settings& settings, const RoundPayloads& payloads,
             RoundHeads& heads, RoundRoom& room);

  /// Finds out how much room a kTask, kTurn or kScale takes, and reserves the slot of a payload that it makes. Each
  /// once, ahead of RoundRoom::place(). Unimplemented: this rank makes several payloads of one partition and hop.
  Status plan(const RoundPart& part);
  /// Queues one of those.
  Status issue(const RoundPart& part, Stream& stream);

  /// The elements of all-reduce `exchange` of a gradient: its own, or what its codec exchanges.
  static DeviceView reduced(const GradientRun& run, std::uint32_t exchange) {
    return run.rounds ? run.rounds->exchanged()[exchange]->device() : run.device.data();
  }

 private:
  Status carry_out(const RoundPart& part);
  Status encode(std::uint32_t gradient, const Encode& encode);
  Status merge(std::uint32_t gradient, const Merge& merge);
  Status decode(std::uint32_t gradient, const Decode& decode);
  Status scale(std::uint32_t gradient, std::uint32_t exchange);
  Status make_payload(std::uint32_t gradient, BufferId to, KernelCall& call);

  Status queue(CodecKernels& kernels, std::span<const KernelCall> batch) override;
  Status queue(TurnKernels& kernels, const TurnCall& call) override;
  template <class Kernels, class Call>
  Status queue_call(Kernels& kernels, const Call& call);
  Status copy(DeviceView from, DeviceView to) override {
    return stream_ == nullptr ? Status::ok() : stream_->copy(from, to);
  }
  DeviceView take_vector(Bytes bytes) override { return room_.take_vector(bytes); }
  DeviceView not_finite() override { return heads_.of_result(gradient_); }

  const std::span<GradientRun* const> runs_;
  const float scale_;  ///< of the last merge
  const RoundPayloads& payloads_;
  RoundHeads& heads_;
  RoundRoom& room_;
  Stream* stream_ = nullptr;    ///< null: room is planned
  std::uint32_t gradient_ = 0;  ///< of the part under way
  std::vector<KernelTerm> terms_;
};

}  // namespace casync::runtime
