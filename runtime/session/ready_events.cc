// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/ready_events.h"

namespace casync::runtime {

Result<std::unique_ptr<Event>> ReadyEvents::make() const {
  if (is_host_) return std::unique_ptr<Event>();
  return device_.make_event();
}

Status ReadyEvents::note(std::span<const Submission> submissions) {
  const Submission* behind = nullptr;
  for (std::size_t i = submissions.size(); i-- > 0;) {
    const Submission& one = submissions[i];
    Ready& own = ready(one.gradient);
    const bool shares = behind != nullptr && behind->stream == one.stream;
    if (!shares) CASYNC_RETURN_IF_ERROR(device_.record(*own.event, one.stream));
    own.noted = shares ? ready(behind->gradient).noted : own.event.get();
    behind = &one;
  }
  return Status::ok();
}

Status ReadyEvents::note(GradientId gradient, void* stream) {
  Ready& own = ready(gradient);
  CASYNC_RETURN_IF_ERROR(device_.record(*own.event, stream));
  own.noted = own.event.get();
  return Status::ok();
}

}  // namespace casync::runtime
