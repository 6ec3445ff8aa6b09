// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "runtime/device/device.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/kernel_table.h"
#include "runtime/executor/round_bucket.h"

namespace casync::runtime {

/// The buckets of all gradients that go through rounds, and the order of those of a step: the same on all ranks.
///
/// Threads: the progress thread.
class RoundOrder {
 public:
  struct Settings {
    std::uint64_t seed = 0;
    float scale = 1;         ///< of the last merge
    Bytes bucket_bytes = 0;  ///< gradients that follow each other travel together until they have as many
  };

  /// Borrows the device.
  RoundOrder(Device& device, const Settings& settings)
      : device_(device), settings_(settings), kernels_(device, settings.scale) {}

  /// Adds gradients to the end: choose() finds them. All ranks call it alike. Unimplemented: a codec has no kernels, or
  /// coded sections. Unavailable: no memory. Internal: the graphs have no rounds.
  Status take_in(std::span<GradientRun* const> runs);
  /// Chooses the buckets of `step`. Allocates only where they differ from those that were chosen last.
  void choose(std::uint32_t step);

  // The rest is about the step that was chosen last.
  std::size_t size() const { return order_.size(); }
  RoundBucket& at(std::size_t place) const { return *order_[place]; }
  /// The bucket that has the gradient.
  std::size_t place_of(const GradientRun& run) const { return bucket_of_.at(&run); }
  std::size_t gradients() const { return bucket_of_.size(); }

  /// Counts the messages of all buckets and steps.
  RoundExchanges::Traffic traffic() const;
  /// Leaves the memory of all buckets to a device that may still write there, for ever.
  void keep_memory();

 private:
  /// The buckets of gradients that were taken in together, in the steps below `until`: in steps of warm-up other
  /// codecs take their place.
  struct Phase {
    std::uint32_t until = 0;
    std::vector<std::unique_ptr<RoundBucket>> buckets;
  };
  using Intake = std::vector<Phase>;  ///< by `until`

  Status add_phase(std::span<GradientRun* const> runs, Intake& intake);

  Device& device_;
  const Settings settings_;
  KernelTable kernels_;
  /// Shared, so that keep_memory() can leave them to a device that does not come to rest.
  const std::shared_ptr<std::vector<Intake>> intakes_ = std::make_shared<std::vector<Intake>>();
  std::vector<RoundBucket*> order_;
  std::unordered_map<const GradientRun*, std::size_t> bucket_of_;
};

}  // namespace casync::runtime
