// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/transport/inbox.h"

namespace casync::runtime {

/// The client's wishes to be asked again about messages that it has put off, until the next progress(). The client may
/// ask for more while they are met; those wait for the next time. All on the transport's thread.
class RetryRequests {
 public:
  void ask() { all_ = true; }
  void ask(std::uint64_t gradient) { gradients_.push_back(gradient); }
  bool any() const { return all_ || !gradients_.empty(); }

  /// Meets them. True when there were any.
  bool meet(Inbox& inbox);

 private:
  bool all_ = false;
  std::vector<std::uint64_t> gradients_, now_;
};

}  // namespace casync::runtime
