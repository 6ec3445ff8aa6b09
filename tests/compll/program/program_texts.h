// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace casync::compll {

/// A decode that returns the floats of its payload.
inline const std::string kDecode =
    "void decode(uint8* compressed, float* gradient) { float* y; extract(compressed, y);\n"
    "gradient = map(y, [&](float x) -> float { return x; }); }\n";

/// Returns a program that the checker accepts, except for `text`: lines 2 and on of encode.
inline std::string in_encode(const std::string& text) {
  return "void encode(float* g, uint8* compressed) {\n" + text + "\ncompressed = concat(g);\n}\n" + kDecode;
}

/// The same, with `text` in a function that is applied to each element, from line 2 on.
inline std::string in_map(const std::string& text) {
  return in_encode("float* y = map(g, [&](float x) -> float {" + text + "});");
}

}  // namespace casync::compll
