// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/late_failure.h"

namespace casync::runtime {

const Status& LateFailure::tell_noted() {
  if (is_noted()) told_ = true;
  return noted_;
}

Status LateFailure::tell(Status status) {
  if (!status) told_ = true;
  return status;
}

void LateFailure::abort(const std::string& reason) {
  told_ = true;
  session_.abort(reason);
}

Status LateFailure::end_with(Status status) {
  abort(status.message());
  return status;
}

}  // namespace casync::runtime
