// SPDX-License-Identifier: Apache-2.0
//
// Late results (runtime/session/delayed_session.h) in a state: as gradients "NAME (late)", or "NAME (late 1)" for the
// next step, "NAME (late 2)" for the one after it, and so on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// The mark behind a gradient's name, with which the name of a late result begins.
inline constexpr std::string_view kLateMark = " (late";

/// The name of the result that comes `place` steps after the next one.
std::string late_name(const std::string& gradient, std::uint32_t staleness, std::uint32_t place);

/// Stands where the name of a codec does.
std::string late_label(std::uint32_t staleness);

/// The gradient that a state's entry has a late result of; nothing: it is of another kind.
std::optional<std::string> gradient_of_late(const std::string& name, const GradientState& state);

/// All of the state that is not late results.
SessionState without_late(SessionState state);

/// The entry of a late result, from the memory of a gradient.
GradientState late_state(const std::vector<std::byte>& memory, const GradientSpec& gradient, std::uint32_t staleness);

/// InvalidArgument: the entry has another number of elements.
Status check_size(const GradientSpec& gradient, const GradientState& late);

/// Returns true if no element is NaN or infinite.
bool is_finite(const GradientState& late);

}  // namespace casync::runtime
