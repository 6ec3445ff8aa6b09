// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace casync::test {

/// A codec as plans name it: name: "int8".
inline std::string named(const std::string& codec) { return "name: \"" + codec + "\""; }

/// The same with parameters with which a few steps tell most of a gradient.
std::string choice_of(const std::string& codec);

}  // namespace casync::test
