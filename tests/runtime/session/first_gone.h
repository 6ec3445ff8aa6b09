// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/session/gone_ranks.h"

namespace casync::test {

/// The reason for which the first rank has gone; "OK" while none has.
inline std::string first_gone(const runtime::GoneRanks& gone) {
  const auto none_goes = gone.hold();
  return gone.first().text();
}

}  // namespace casync::test
