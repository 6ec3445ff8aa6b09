// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "casync/graph/rounds.h"
#include "runtime/collective/round_transport.h"
#include "runtime/device/device.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/kernel_queue.h"

namespace casync::runtime {

/// The gradients of one bucket on this rank, in the memory of its device: their payloads, and the parts in which their
/// rounds are queued. All addresses stay the same from step to step.
///
/// Payloads never come to the host. Each one that is made here puts its head into a slot, and the last part finds the
/// largest of each byte over all ranks: the bit of a gradient that is not finite is the same everywhere.
///
/// Threads: the progress thread. Errors: as Stream and RoundTransport.
class RoundBucket final : private KernelQueue {
 public:
  struct Settings {
    std::uint64_t seed = 0;
    float scale = 1;             ///< of the last merge
    const KernelTable& kernels;  ///< of the runs' codecs
  };
  enum class Part : std::uint8_t { kBegin, kTask, kExchange, kTurn, kAllReduce, kScale, kAgree, kEnd };

  /// `runs`: the gradients of the bucket, in its order.
  RoundBucket(Bucket bucket, std::span<GradientRun* const> runs, const Settings& settings);
  /// Memory, and room for what kernels take. Between steps. Unavailable: no memory. Unimplemented: a graph in which
  /// this rank makes several payloads of one partition and hop.
  Status open(Device& device);

  const std::vector<GradientRun*>& runs() const { return runs_; }
  /// A gradient was submitted.
  void take(const GradientRun& run);
  /// All of them were.
  bool is_whole() const { return taken_ == runs_.size(); }
  const GradientRun* first_missing() const;

  std::size_t parts() const { return parts_.size(); }
  /// True: the part ends with a call of the transport, and the caller waits for its poll().
  bool calls_transport(std::size_t part) const;
  /// Queues a part.
  Status issue(std::size_t part, Stream& stream, RoundTransport& transport);
  /// True: its work is over, and the gradients know if they are finite.
  Result<bool> is_over();
  /// Forgets the step.
  void reset();

  std::uint64_t messages_sent() const { return messages_sent_; }
  std::uint64_t messages_received() const { return messages_received_; }
  Bytes bytes_sent() const { return bytes_sent_; }
  Bytes bytes_received() const { return bytes_received_; }

 private:
  struct Step {
    Part part = Part::kBegin;
    std::uint32_t round = 0;  ///< of the bucket; of a codec that takes turns: the turn, and what is exchanged after it
    RoundTask task;           ///< its gradient by its place in runs_
  };
  struct Pieces {
    std::vector<RoundPiece> sends, recvs;
  };
  /// Bytes that tasks take; in a step, where the next ones are.
  struct Sizes {
    Bytes vectors = 0, room = 0, pinned = 0;
  };

  void add_all_reduced(std::uint32_t round, std::uint32_t gradient);
  void lay_out();
  void find_pieces();
  Status plan();
  Status queue(const Step& step, RoundTransport& transport);
  Status queue_task(GradientRun& run, std::uint32_t gradient, TaskId task);
  Status encode(GradientRun& run, std::uint32_t gradient, const Encode& encode);
  Status merge(GradientRun& run, std::uint32_t gradient, const Merge& merge);
  Status decode(GradientRun& run, std::uint32_t gradient, const Decode& decode);
  Status scale(GradientRun& run, std::uint32_t gradient, std::uint32_t exchange);
  Status make_payload(GradientRun& run, std::uint32_t gradient, BufferId to, const compll::Codec& codec,
                      KernelCall& call);
  Status queue(CodecKernels& kernels, std::span<const KernelCall> batch) override;
  Status queue(TurnKernels& kernels, const TurnCall& call) override;
  template <class Kernels, class Call>
  Status queue_call(Kernels& kernels, const Call& call);
  Status copy(DeviceView from, DeviceView to) override;
  DeviceView take_vector(Bytes bytes) override;
  /// A buffer's payload as kernels have it, and as it travels: without the head of an identity's.
  DeviceView payload(std::uint32_t gradient, BufferId buffer) const;
  DeviceView message(const GradientRun& run, std::uint32_t gradient, BufferId buffer) const;
  KernelTerm term(const GradientRun& run, std::uint32_t gradient, BufferId buffer) const;
  DeviceView slot(std::uint32_t gradient, std::size_t at) const;
  /// The elements of all-reduce `exchange` of a gradient: its own, or what its codec exchanges.
  static DeviceView reduced(const GradientRun& run, std::uint32_t exchange);
  static Bytes head_of(const compll::Codec& codec) { return codec.info().identity ? kDevicePayloadHead : 0; }

  const Bucket bucket_;
  const std::vector<GradientRun*> runs_;
  const float scale_;                                         ///< of the last merge
  std::vector<bool> all_reduced_;                             ///< by gradient
  std::vector<std::vector<std::pair<Bytes, Bytes>>> places_;  ///< by gradient and buffer: first byte, size
  std::vector<std::size_t> first_slot_;                       ///< by gradient; one more: all slots
  Bytes payload_bytes_ = 0;
  std::vector<Step> parts_;
  std::vector<Pieces> pieces_;    ///< by round
  std::vector<Bytes> pinned_of_;  ///< by call of a kernel, in their order
  std::size_t calls_ = 0;         ///< so far in this step
  Sizes most_, now_;
  std::vector<KernelTerm> terms_;

  std::unique_ptr<DeviceBuffer> memory_;  ///< payloads, slots, vectors of a task, room of a kernel
  std::unique_ptr<DeviceBuffer> pinned_;  ///< what kernels are filled from, then the slots
  std::unique_ptr<Event> end_;
  Stream* stream_ = nullptr;  ///< null: memory is planned

  std::vector<bool> is_taken_;
  std::size_t taken_ = 0;
  std::uint64_t messages_sent_ = 0, messages_received_ = 0;
  Bytes bytes_sent_ = 0, bytes_received_ = 0;
};

}  // namespace casync::runtime
