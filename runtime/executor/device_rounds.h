// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/collective/round_transport.h"
#include "runtime/device/device.h"
#include "runtime/executor/device_tasks.h"
#include "runtime/executor/kernel_table.h"
#include "runtime/executor/round_bucket.h"

namespace casync::runtime {

/// Runs gradients on a device through rounds over a transport that matches messages by their order: on all ranks the
/// same buckets, one after the other, all in one stream. A bucket begins once all its gradients are submitted and the
/// buckets in front of it have begun. Gradients that no codec changes are all-reduced, and so is what codecs exchange
/// in their turns.
///
/// Threads: the progress thread. Errors: as RoundBucket, with the gradient and the step.
class DeviceRounds {
 public:
  struct Settings {
    std::uint64_t seed = 0;
    float scale = 1;         ///< of the last merge
    Bytes bucket_bytes = 0;  ///< gradients that follow each other travel together until they have as many
  };
  using Open = std::function<Result<std::unique_ptr<RoundTransport>>(Stream&)>;

  /// `waker`: its wake() is called when work of the device is over.
  DeviceRounds(Device& device, const Settings& settings, Transport& waker);
  ~DeviceRounds();  ///< after close() or come_to_rest()
  DeviceRounds(const DeviceRounds&) = delete;
  DeviceRounds& operator=(const DeviceRounds&) = delete;

  /// Makes the stream, and opens the transport on it. On a thread of the program, before all else.
  Status open(const Open& open);
  /// Adds gradients to the end of the order. All ranks call it alike. Unimplemented: a codec has no kernels, or coded
  /// sections. Unavailable: no memory. Internal: the graphs have no rounds.
  Status take_in(std::span<GradientRun* const> runs);

  /// A gradient was submitted: its run has begun. Internal: the step before has not gone through all gradients.
  Status begin(const GradientRun& run);
  /// From here on the step's number may be one that was there before.
  void forget_step() { step_.reset(); }
  /// Queues what can be queued, and looks what is over. True: something moved.
  Result<bool> progress();
  /// A gradient whose result is in its place; null: none since. Each once.
  GradientRun* take_done();

  bool is_starting() const { return starting_; }
  bool is_under_way() const { return starting_ || ended_ != current_; }
  /// Says why `run`, which is under way, is not done.
  std::string missing(const GradientRun& run) const;
  TransportStats stats() const;
  std::string description() const { return transport_->description(); }

  /// Ends the transport in order, after the last step. On a failure that is logged it ends all the same.
  void close(Clock::time_point deadline);
  /// After a failure: aborts the transport and waits until the device writes nothing more. False: not by the deadline;
  /// then memory is kept for ever.
  bool come_to_rest(Clock::time_point deadline);

 private:
  /// The buckets of gradients that were taken in together, in the steps before `until`: in steps of warm-up other
  /// codecs take their place.
  struct Phase {
    std::uint32_t until = 0;
    std::vector<std::unique_ptr<RoundBucket>> buckets;
  };
  using Intake = std::vector<Phase>;  ///< by `until`

  Status add_phase(std::span<GradientRun* const> runs, Intake& intake);
  void choose_order(std::uint32_t step);
  bool can_queue() const { return current_ < order_.size() && order_[current_]->members().is_whole(); }
  Status queue_some(bool* moved);
  Status look_for_ended(bool* moved);
  Status ring();
  void silence();

  Device& device_;
  const Settings settings_;
  std::shared_ptr<Bell> bell_;
  KernelTable kernels_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Event> rest_;
  std::unique_ptr<RoundTransport> transport_;
  std::vector<Intake> intakes_;
  std::vector<RoundBucket*> order_;  ///< of this step, the same on all ranks
  std::unordered_map<const GradientRun*, std::size_t> bucket_of_;
  std::vector<GradientRun*> done_;

  std::optional<std::uint32_t> step_;
  std::size_t current_ = 0;  ///< the bucket that is queued next,
  std::size_t part_ = 0;     ///< and its part
  std::size_t ended_ = 0;    ///< buckets that are over
  bool starting_ = false;    ///< a call of the transport is not in the stream yet
};

}  // namespace casync::runtime
