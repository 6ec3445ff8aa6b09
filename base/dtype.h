// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace casync {

/// Element types of gradients. The numbers are part of the C ABI and of the wire.
enum class DType : std::uint8_t { kFloat32 = 1, kFloat16 = 2, kBFloat16 = 3 };

/// The size of one element.
constexpr std::size_t bytes_of(DType dtype) { return dtype == DType::kFloat32 ? 4 : 2; }

/// "float32", "float16", "bfloat16"; "?" for a number that is none of them.
constexpr std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return "float32";
    case DType::kFloat16: return "float16";
    case DType::kBFloat16: return "bfloat16";
  }
  return "?";
}

/// The type of this name; nothing if there is none.
constexpr std::optional<DType> dtype_from(std::string_view name) {
  for (DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    if (name_of(dtype) == name) return dtype;
  }
  return std::nullopt;
}

}  // namespace casync
