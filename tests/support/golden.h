// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace casync::test {

/// The text of tests/casync/graph/golden/<name>. With CASYNC_UPDATE_GOLDEN=1 in the environment the file is first
/// rewritten to `actual`; its diff is then the thing to review.
std::string golden(const std::string& name, const std::string& actual);

}  // namespace casync::test
