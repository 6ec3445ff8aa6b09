// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "compll/codec/codec.h"
#include "runtime/device/device.h"

namespace casync::tools {

/// The operands of a codec's functions: vectors of n elements on a device.
class CodecVectors {
 public:
  /// Error: the device has no memory for them, or failed.
  static Result<CodecVectors> make(runtime::Device& device, const compll::Codec& codec, Elements n);

  runtime::DeviceView in() const { return in_->device(); }
  /// Memory for one of kManyMerged codes that are merged.
  runtime::DeviceView payload(std::size_t i) const { return payloads_[i]->device(); }
  /// The outcome of the call that ran last.
  const runtime::KernelOutcome& outcome() const;
  /// A call on these vectors that takes no terms.
  runtime::KernelCall call(runtime::KernelFunction function) const;

 private:
  CodecVectors(const compll::Codec& codec, Elements n) : n_(n), states_(codec.info().states) {}

  Elements n_;
  std::size_t states_;
  std::unique_ptr<runtime::DeviceBuffer> in_, out_, kept_in_, kept_out_;
  std::vector<std::unique_ptr<runtime::DeviceBuffer>> payloads_;  ///< codes to merge, and room for one more
  std::unique_ptr<runtime::DeviceBuffer> outcome_;                ///< a KernelOutcome
};

}  // namespace casync::tools
