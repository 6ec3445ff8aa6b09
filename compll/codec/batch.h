// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "compll/codec/codec.h"

namespace casync::compll {

/// One gradient of a batch: the arguments of Codec::encode, and what it returns.
struct EncodeJob {
  const float* in = nullptr;
  Elements n = 0;
  Residual residual;
  EncodeContext context;
  std::byte* payload = nullptr;
  Encoded made;
};

/// The arguments of Codec::decode for one gradient of a batch.
struct DecodeJob {
  ConstView payload;
  Elements n = 0;
  float* out = nullptr;
};

/// A codec that works on many small gradients in one call: the form of a payload is worked out once for jobs of the
/// same n that follow one another, and each job's memory is fetched during the one ahead of it.
///
/// Threads: as Codec.
class BatchCodec {
 public:
  /// Does as Codec::encode and Codec::decode for each job, in their order.
  virtual void encode_all(std::span<EncodeJob> jobs) const = 0;
  virtual void decode_all(std::span<const DecodeJob> jobs) const = 0;

 protected:
  ~BatchCodec() = default;
};

/// The same by any codec; one that is no BatchCodec is called for each job.
void encode_all(const Codec& codec, std::span<EncodeJob> jobs);
void decode_all(const Codec& codec, std::span<const DecodeJob> jobs);

}  // namespace casync::compll
