// SPDX-License-Identifier: Apache-2.0
//
// The meaning of every operation on single elements, as plain C++. The checker folds constants with it, the
// interpreter runs on it, and the texts of the back ends are compared with it.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "compll/lang/program.h"

namespace casync::compll {

/// One element of any type: the bits of a float or a double, an integer's two's complement in 32 bits, 0 or 1.
struct Scalar {
  std::uint64_t bits = 0;

  static Scalar of_float(float value) { return {std::bit_cast<std::uint32_t>(value)}; }
  static Scalar of_double(double value) { return {std::bit_cast<std::uint64_t>(value)}; }
  static Scalar of_int(std::int32_t value) { return of_uint(static_cast<std::uint32_t>(value)); }
  static Scalar of_uint(std::uint32_t value) { return {value}; }
  static Scalar of_bool(bool value) { return {value ? 1u : 0u}; }
  /// A number that the type can hold; floats are rounded.
  static Scalar of(ScalarType type, double number);

  float as_float() const { return std::bit_cast<float>(as_uint()); }
  double as_double() const { return std::bit_cast<double>(bits); }
  std::int32_t as_int() const { return static_cast<std::int32_t>(bits); }
  std::uint32_t as_uint() const { return static_cast<std::uint32_t>(bits); }
  bool as_bool() const { return bits != 0; }
  double as_number(ScalarType type) const;

  bool operator==(const Scalar&) const = default;
};

/// Op::kConvert.
Scalar converted(Scalar value, ScalarType from, ScalarType to);
/// The same with each of some values.
void convert(std::span<Scalar> values, ScalarType from, ScalarType to);

/// Any operation with operands only (kConvert and kSelect are not among them), on operands of type `type`: the types
/// of both are the same. A shift goes by the lowest five bits of its count.
Scalar computed(Op op, ScalarType type, std::span<const Scalar> operands);
/// The same with each pair of operands, of which the result replaces the first one. An operation of one operand does
/// not look at the second ones.
void compute(Op op, ScalarType type, std::span<Scalar> first, std::span<const Scalar> second);

}  // namespace casync::compll
