// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/batch.h"

namespace casync::compll {

void encode_all(const Codec& codec, std::span<EncodeJob> jobs) {
  if (const auto* batch = dynamic_cast<const BatchCodec*>(&codec)) return batch->encode_all(jobs);
  for (EncodeJob& job : jobs) job.made = codec.encode(job.in, job.n, job.residual, job.context, job.payload);
}

void decode_all(const Codec& codec, std::span<const DecodeJob> jobs) {
  if (const auto* batch = dynamic_cast<const BatchCodec*>(&codec)) return batch->decode_all(jobs);
  for (const DecodeJob& job : jobs) codec.decode(job.payload, job.n, job.out);
}

}  // namespace casync::compll
