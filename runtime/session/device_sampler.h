// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "casync/model/gradient.h"
#include "runtime/device/device.h"
#include "runtime/session/gradient_sampler.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// Brings a GradientSampler the samples of gradients that lie in a device's memory: copies to pinned memory, in a
/// stream of its own behind what writes the gradient. The host takes them over once they are done. Between declarations
/// nothing is allocated, and nothing ever waits.
/// Memory: as many pinned bytes as the sample has, at most 64 KiB a gradient.
///
/// Threads: one at a time. Errors: Unavailable, as Device and Stream.
class DeviceSampler {
 public:
  /// Borrows both.
  DeviceSampler(Device& device, GradientSampler& sampler) : device_(device), sampler_(sampler) {}
  ~DeviceSampler();  ///< memory that the device still writes after 10 s is kept for ever
  DeviceSampler(const DeviceSampler&) = delete;
  DeviceSampler& operator=(const DeviceSampler&) = delete;

  /// A gradient gets the next number.
  Status declare(const GradientSpec& gradient);
  /// As GradientSampler::submitted(). Returns the stream behind which the gradient's memory may change: the
  /// submission's own, or if it is sampled the one that copies. A sample whose place is still taken is left out.
  Result<void*> submitted(std::size_t gradient, const Submission& submission, std::uint32_t step);
  /// Takes over what has been copied. A copy that failed is forgotten: the device has failed.
  void take_over();

 private:
  struct Gradient {
    GradientSpec spec;
    std::unique_ptr<DeviceBuffer> sample;
    std::unique_ptr<Event> copied;
    bool is_under_way = false;
    std::uint32_t step = 0;  ///< of the sample under way
  };

  Status open();
  void take_over(std::size_t gradient);

  Device& device_;
  GradientSampler& sampler_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Event> written_;  ///< by the program, the gradient that is sampled
  std::vector<Gradient> gradients_;
  std::size_t under_way_ = 0;
};

}  // namespace casync::runtime
