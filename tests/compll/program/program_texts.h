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

/// A program in vector form whose sections are for blocks of two sizes, which the interpreter alone computes.
inline const std::string kTwoBlockSizes =
    "void encode(float* g, uint8* c) {\n"
    "  float* a = block_reduce(g, 16, max);\n"
    "  float* b = block_reduce(g, 24, max);\n"
    "  c = concat(a, b);\n"
    "}\n"
    "void decode(uint8* c, float* g) {\n"
    "  float* a, b;\n"
    "  extract(c, a, b);\n"
    "  g = spread(a, 16);\n"
    "}\n";

}  // namespace casync::compll
