// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/kept.h"

#include <utility>

#include "compll/codec/registry.h"

namespace casync::compll {

Status check_one_buffer(const CodecInfo& info) {
  const std::string codec = "residual_memory one_buffer: codec `" + info.name + "` ";
  const std::string use = "; give its gradients two_buffers";
  if (info.rounds > 0) {
    return plan_error(codec + "exchanges within a step, and its last turn reads what the last step kept" + use);
  }
  if (info.states > 1) {
    return plan_error(codec + "keeps " + std::to_string(info.states) +
                      " values of each element, and one buffer is for codecs that keep one" + use);
  }
  return Status::ok();
}

Status check_bfloat16(const CodecInfo& info) {
  const std::string codec = "residual_memory bfloat16: codec `" + info.name + "` ";
  const std::string use = "; give its gradients two_buffers or, where that is allowed, one_buffer";
  if (info.rounds > 0) return plan_error(codec + "exchanges within a step, and keeps factors of matrices" + use);
  if (info.states == 0 || (info.states == 1 && info.feedback)) return Status::ok();
  return plan_error(codec + "keeps a state of its own, and only residuals are rounded" + use);
}

std::unique_ptr<Codec> make_kept_bfloat16() { return std::move(make_built_in_codec("kept_bf16")).value(); }

EncodeContext kept_context(EncodeContext codecs) {
  codecs.seed += 0x9e3779b97f4a7c15;  // odd, and none of those that context_of() adds
  return codecs;
}

}  // namespace casync::compll
