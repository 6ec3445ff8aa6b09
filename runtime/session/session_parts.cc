// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/session_parts.h"

#include <utility>

#include "runtime/session/session_nccl.h"

namespace casync::runtime {

SessionParts::SessionParts(const SessionOptions& wanted, Launch found, Plan made, std::unique_ptr<Device> opened)
    : options(wanted),
      launch(std::move(found)),
      plan(std::move(made)),
      paces(std::make_shared<RankPaces>()),
      device(std::move(opened)),
      pinned(dynamic_cast<const PinnedBound*>(device.get())) {
  if (!options.trace_directory.empty()) timeline = std::make_unique<Timeline>(kTimelineSpans);
}

bool SessionParts::over_nccl() const { return options.transport == kNccl; }

void SessionParts::leave_to_threads() {
  static_cast<void>(executor.release());
  static_cast<void>(device.release());
  static_cast<void>(timeline.release());
}

}  // namespace casync::runtime
