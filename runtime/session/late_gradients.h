// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "casync/model/gradient.h"
#include "runtime/device/device.h"
#include "runtime/session/late_gradient.h"
#include "runtime/session/late_memory.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// The gradients of a session whose results come late, by GradientId. Adding one does not move the others.
/// Under the session's lock. Errors, besides: Unavailable, as LateMemory.
class LateGradients {
 public:
  /// Borrows the device.
  LateGradients(Device& device, std::uint32_t staleness) : device_(device), staleness_(staleness) {}

  /// Makes a device's streams. Unavailable: as Device::make_stream().
  Status open();
  bool has(GradientId id) const { return index(id) < gradients_.size() && gradients_[index(id)] != nullptr; }
  /// Adds one that is not there. Unavailable: no memory.
  Result<LateGradient*> add(GradientId id, const GradientSpec& gradient);
  LateGradient& at(GradientId id) { return *gradients_[index(id)]; }
  /// InvalidArgument: no submission gave the handle.
  Result<LateGradient*> of(Handle handle);
  /// Null: none has this name.
  const LateGradient* find(const std::string& name) const;
  /// Calls `function(id, gradient)` for each until one fails.
  template <class Function>
  Status for_each(const Function& function) {
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      if (gradients_[i]) CASYNC_RETURN_IF_ERROR(function(GradientId(static_cast<std::uint32_t>(i)), *gradients_[i]));
    }
    return Status::ok();
  }

  /// Checks submissions that come together. InvalidArgument: as Session::submit.
  Status check(std::span<const Submission> submissions, std::uint32_t step);
  /// The number of gradients that have been submitted in `step`.
  std::size_t under_way(std::uint32_t step) const;
  /// Hands over all results, which are there. Returns true if they are in the program's memory.
  Result<bool> hand_over_all();
  /// Puts the submissions of `step`, which has ended, into `submissions`.
  void gather(std::uint32_t step, std::vector<Submission>* submissions);

  /// Adds all results to `state`.
  Status save(SessionState& state) const;
  /// Forgets all submissions and results.
  Status forget();
  /// Leaves the memory and the device's streams to their users: the process that has the device, if this one is a
  /// forked child, or threads that have not ended.
  void leave_to_threads();

 private:
  static std::size_t index(GradientId id) { return static_cast<std::size_t>(id); }

  Device& device_;
  LateStreams streams_;  ///< of a device
  const std::uint32_t staleness_;
  std::vector<std::unique_ptr<LateGradient>> gradients_;  ///< null: not declared here
  std::uint64_t calls_ = 0;                               ///< of check()
};

}  // namespace casync::runtime
