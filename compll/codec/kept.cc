// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/kept.h"

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

}  // namespace casync::compll
