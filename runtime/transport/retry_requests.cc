// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/retry_requests.h"

#include <utility>

namespace casync::runtime {

bool RetryRequests::meet(Inbox& inbox) {
  if (!any()) return false;
  if (std::exchange(all_, false)) inbox.retry();
  now_.swap(gradients_);
  for (const std::uint64_t gradient : now_) inbox.retry(gradient);
  now_.clear();
  return true;
}

}  // namespace casync::runtime
