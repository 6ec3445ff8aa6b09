// SPDX-License-Identifier: Apache-2.0
//
// The meaning of a handle: which gradient, in which step.
#pragma once

#include <string>

#include "base/status.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// The handle of a gradient's submission in a step, and the two parts of a handle.
inline Handle handle_of(std::uint32_t step, GradientId id) {
  return Handle(std::uint64_t{step} << 32 | static_cast<std::uint32_t>(id));
}
inline std::uint32_t step_of(Handle handle) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(handle) >> 32);
}
inline std::uint32_t index_of(Handle handle) { return static_cast<std::uint32_t>(static_cast<std::uint64_t>(handle)); }

/// InvalidArgument: no submission gave `handle`.
inline Status unknown(Handle handle) {
  return invalid_argument("no submission gave the handle " + std::to_string(static_cast<std::uint64_t>(handle)));
}

}  // namespace casync::runtime
