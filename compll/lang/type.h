// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace casync::compll {

/// The type of one element. `float` is IEEE 754 binary32, `double` binary64; integers have 1 to 32 bits, signed ones in
/// two's complement; `trit` is -1, 0 or 1, an int with a number of bits that no other has.
struct ScalarType {
  enum class Kind : std::uint8_t { kVoid, kBool, kInt, kUint, kFloat };
  Kind kind = Kind::kVoid;
  std::uint8_t bits = 0;

  bool is_number() const { return kind != Kind::kVoid && kind != Kind::kBool; }
  bool is_float() const { return kind == Kind::kFloat; }
  bool is_integer() const { return kind == Kind::kInt || kind == Kind::kUint; }
  bool operator==(const ScalarType&) const = default;
};

inline constexpr ScalarType kVoidType{ScalarType::Kind::kVoid, 0};
inline constexpr ScalarType kBoolType{ScalarType::Kind::kBool, 1};
inline constexpr ScalarType kIntType{ScalarType::Kind::kInt, 32};
inline constexpr ScalarType kUintType{ScalarType::Kind::kUint, 32};
inline constexpr ScalarType kTritType{ScalarType::Kind::kInt, 243};
inline constexpr ScalarType kFloatType{ScalarType::Kind::kFloat, 32};
inline constexpr ScalarType kDoubleType{ScalarType::Kind::kFloat, 64};

/// The range of an integer type.
std::int64_t least_of(ScalarType type);
std::int64_t most_of(ScalarType type);

/// The index of a parameter among a program's parameters, in their order.
using ParameterId = std::uint32_t;

/// The dimensions of a gradient for a codec that declares `shape`: its numbers of rows and of columns.
enum class Dimension : std::uint8_t { kRows, kColumns };

/// A whole number that does not depend on the gradient's values: written down, a parameter or a dimension.
struct Constant {
  std::uint32_t value = 0;
  std::optional<ParameterId> parameter;  ///< when set, it is that parameter's value
  std::optional<Dimension> dimension;    ///< when set, it is this extent of the gradient

  bool operator==(const Constant&) const = default;
};

/// The number of elements of an array, as a formula: two arrays fit together if the formulas are the same.
struct Extent {
  enum class Kind : std::uint8_t {
    kElements,  ///< n, as many as the gradient
    kBlocks,    ///< ceil(n / count): one for each block of the gradient
    kFixed,     ///< count
    kSized,     ///< the program's size number `count`
  };
  Kind kind = Kind::kElements;
  Constant count;

  bool operator==(const Extent&) const = default;
};

/// A value's type: one element, or an array of them.
struct Type {
  ScalarType element;
  std::optional<Extent> extent;  ///< of an array

  bool is_array() const { return extent.has_value(); }
  /// Returns true for an array whose number of elements is a formula of this kind.
  bool is_over(Extent::Kind kind) const { return extent && extent->kind == kind; }
  bool operator==(const Type&) const = default;
};

/// Text as programs write it: `uint4`, `float*`.
std::string text_of(ScalarType type);
std::string text_of(const Type& type);
/// `n`, `ceil(n / 128)`, `ceil(n / #0)` for parameter 0.
std::string text_of(const Extent& extent);

}  // namespace casync::compll
