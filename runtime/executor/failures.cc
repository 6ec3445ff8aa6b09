// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/failures.h"

#include <exception>
#include <utility>

namespace casync::runtime {

void Failures::fail(Status cause) {
  if (waiters_.fail(std::move(cause))) requests_.wake();
}

void Failures::report(Status cause) {
  if (failing()) return;
  try {
    events_.failed(cause);
  } catch (const std::exception&) {  // then it is known here at least
  }
  fail(std::move(cause));
}

Status Failures::wait_for_end(Clock::time_point deadline) const {
  const bool ended = waiters_.wait_for_end(deadline);
  Status cause = failure();
  if (ended) return cause;
  return {cause.code(),
          cause.message() + "; a task that was begun has not ended yet: the gradients' memory is " + "still in use"};
}

}  // namespace casync::runtime
