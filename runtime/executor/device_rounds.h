// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/device/device.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/round_order.h"
#include "runtime/executor/round_stream.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// Runs gradients on a device through rounds over a transport that matches messages by their order: on all ranks the
/// same buckets, one after the other (RoundOrder), all in one stream (RoundStream). A bucket begins once all its
/// gradients are submitted and the buckets in front of it have begun. Gradients that no codec changes are all-reduced,
/// and so is what codecs exchange in their turns.
///
/// Threads: the progress thread. Errors: as RoundBucket, with the gradient and the step.
class DeviceRounds {
 public:
  using Settings = RoundOrder::Settings;
  using Open = RoundStream::Open;

  /// `waker`: its wake() is called when work of the device is over.
  DeviceRounds(Device& device, const Settings& settings, Transport& waker)
      : stream_(device, waker), order_(device, settings) {}

  /// Makes the stream, and opens the transport on it. On a thread of the program, ahead of all else.
  Status open(const Open& open) { return stream_.open(open); }
  /// Adds gradients to the end of the order. All ranks call it alike. Errors: as RoundOrder::take_in().
  Status take_in(std::span<GradientRun* const> runs);

  /// A gradient was submitted: its run has begun. Internal: the last step has not gone through all gradients.
  Status begin(const GradientRun& run);
  /// From here on the step's number may be one that was there earlier.
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
  std::string description() const { return stream_.transport().description(); }

  /// Ends the transport in order, after the last step. On a failure that is logged it ends all the same.
  void close(Clock::time_point deadline) { stream_.close(deadline); }
  /// After a failure: aborts the transport and waits until the device writes nothing more. False: not by the deadline;
  /// then memory is kept for ever.
  bool come_to_rest(Clock::time_point deadline);

 private:
  void choose_order(std::uint32_t step);
  bool can_queue() const { return current_ < order_.size() && order_.at(current_).members().is_whole(); }
  Status queue_some(bool* moved);
  Status look_for_ended(bool* moved);

  RoundStream stream_;
  RoundOrder order_;
  std::vector<GradientRun*> done_;

  std::optional<std::uint32_t> step_;
  std::size_t current_ = 0;  ///< the bucket that is queued next,
  std::size_t part_ = 0;     ///< and its part
  std::size_t ended_ = 0;    ///< buckets that are over
  bool starting_ = false;    ///< a call of the transport is not in the stream yet
};

}  // namespace casync::runtime
