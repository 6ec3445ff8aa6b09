// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/control/group/role.h"

namespace casync::runtime::testing {

/// A group that listens to nothing; tests override the events that they look at.
struct NoEvents : RoleEvents {
  void joined(std::vector<Identity>) override {}
  void failed(const Status&) override {}
  void gathered(Result<std::vector<BlobRef>>) override {}
  void agreed(const Agreement&) override {}
  void needed(const std::string&, std::uint32_t) override {}
  void left(Rank, const LastWords&) override {}
  void alone(Rank) override {}
};

}  // namespace casync::runtime::testing
