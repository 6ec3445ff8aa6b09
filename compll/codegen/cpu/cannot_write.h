// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace casync::compll {

/// Thrown and caught inside the back end only, after the reason was added to the diagnostics.
struct CannotWrite {};

}  // namespace casync::compll
