// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace casync {

/// Seconds for which a session's thread runs codec tasks until it looks at its messages again (kTaskTime in
/// runtime/executor/computing.cc).
inline constexpr double kTaskTurn = 50e-6;

}  // namespace casync
