// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/profile/codec_vectors.h"

#include <cmath>
#include <utility>

#include "tools/casync/profile/codec_points.h"

namespace casync::tools {

using runtime::DeviceBuffer;
using runtime::KernelCall;
using runtime::KernelOutcome;
using runtime::Memory;

Result<CodecVectors> CodecVectors::make(runtime::Device& device, const compll::Codec& codec, Elements n) {
  CodecVectors made(codec, n);
  const auto add = [&](std::unique_ptr<DeviceBuffer>& to, Bytes bytes) -> Status {
    Result<std::unique_ptr<DeviceBuffer>> memory = device.allocate(bytes, Memory::kDevice);
    if (!memory) return memory.status();
    to = std::move(*memory);
    // Elements of many sizes, zeros where nothing has been kept yet.
    std::vector<float> values(bytes / sizeof(float));
    if (&to == &made.in_) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i)) * 1e-2f;
    }
    return device.write({reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(float)},
                        to->device().slice(0, values.size() * sizeof(float)));
  };
  const Bytes bytes = n * sizeof(float), kept = made.states_ * bytes;
  const Bytes head = codec.info().identity ? runtime::kDevicePayloadHead : 0;
  CASYNC_RETURN_IF_ERROR(add(made.in_, bytes));
  CASYNC_RETURN_IF_ERROR(add(made.out_, bytes));
  CASYNC_RETURN_IF_ERROR(add(made.kept_in_, kept));
  CASYNC_RETURN_IF_ERROR(add(made.kept_out_, kept));
  for (std::size_t i = 0; i <= kManyMerged; ++i) {
    CASYNC_RETURN_IF_ERROR(add(made.payloads_.emplace_back(), head + codec.encoded_bound(n)));
  }
  Result<std::unique_ptr<DeviceBuffer>> outcome = device.allocate(sizeof(KernelOutcome), Memory::kPinned);
  if (!outcome) return outcome.status();
  made.outcome_ = std::move(*outcome);
  *reinterpret_cast<KernelOutcome*>(made.outcome_->view().data) = {};
  return made;
}

const KernelOutcome& CodecVectors::outcome() const {
  return *reinterpret_cast<const KernelOutcome*>(outcome_->view().data);
}

KernelCall CodecVectors::call(runtime::KernelFunction function) const {
  KernelCall call;
  call.function = function;
  call.n = n_;
  call.in = in_->device();
  call.out = out_->device();
  call.payload = payloads_.back()->device();
  call.outcome = outcome_->device();
  if (states_ != 0) {
    call.kept_in = kept_in_->device();
    call.kept_out = kept_out_->device();
    call.kept_stride = n_;
  }
  return call;
}

}  // namespace casync::tools
