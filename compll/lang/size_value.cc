// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/size_value.h"

#include <type_traits>

#include "base/check.h"
#include "compll/ops/sizes.h"

namespace casync::compll {
namespace {

template <class T>
SizeValue computed_real(Op op, T a, T b) {
  switch (op) {
    case Op::kNegate: return wide::negate(a);
    case Op::kAbs: return wide::abs(a);
    case Op::kFloor: return wide::floor(a);
    case Op::kCeil: return wide::ceil(a);
    case Op::kRound: return wide::round_even(a);
    case Op::kSqrt: return wide::sqrt(a);
    case Op::kBits: return wide::bits(static_cast<float>(a));
    case Op::kIsFinite: return wide::is_finite(a);
    case Op::kAdd: return wide::add(a, b);
    case Op::kSubtract: return wide::subtract(a, b);
    case Op::kMultiply: return wide::multiply(a, b);
    case Op::kDivide: return wide::divide(a, b);
    case Op::kMin: return wide::min(a, b);
    case Op::kMax: return wide::max(a, b);
    default: break;
  }
  CASYNC_CHECK(false);
  return false;
}

template <class T>
SizeValue computed_integer(Op op, T a, T b) {
  switch (op) {
    case Op::kNegate: return wide::negate(a);
    case Op::kComplement: return static_cast<T>(~a);
    case Op::kAbs: return wide::abs(a);
    case Op::kFromBits: return wide::from_bits(static_cast<wide::Uint>(a));
    case Op::kAdd: return wide::add(a, b);
    case Op::kSubtract: return wide::subtract(a, b);
    case Op::kMultiply: return wide::multiply(a, b);
    case Op::kDivide: return wide::divide(a, b);
    case Op::kRemainder: return wide::remainder(a, b);
    case Op::kAnd: return static_cast<T>(a & b);
    case Op::kOr: return static_cast<T>(a | b);
    case Op::kXor: return static_cast<T>(a ^ b);
    case Op::kShiftLeft: return wide::shift_left(a, b);
    case Op::kShiftRight: return wide::shift_right(a, b);
    case Op::kMin: return wide::min(a, b);
    case Op::kMax: return wide::max(a, b);
    default: break;
  }
  CASYNC_CHECK(false);
  return false;
}

SizeValue computed_bool(Op op, bool a, bool b) {
  switch (op) {
    case Op::kNot: return !a;
    case Op::kAnd: return a && b;
    case Op::kOr: return a || b;
    case Op::kXor: return a != b;
    default: break;
  }
  CASYNC_CHECK(false);
  return false;
}

template <class T>
SizeValue computed_by(Op op, T a, T b) {
  switch (op) {
    case Op::kEqual: return a == b;
    case Op::kUnequal: return a != b;
    case Op::kLess: return a < b;
    case Op::kLessEqual: return a <= b;
    default: break;
  }
  if constexpr (std::is_same_v<T, bool>) return computed_bool(op, a, b);
  if constexpr (std::is_floating_point_v<T>) return computed_real(op, a, b);
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) return computed_integer(op, a, b);
}

}  // namespace

SizeValue size_value(ScalarType type, double number) { return converted_size(number, type); }

SizeValue converted_size(const SizeValue& value, ScalarType to) {
  return std::visit(
      [&](auto from) -> SizeValue {
        switch (to.kind) {
          case ScalarType::Kind::kBool: return wide::to_bool(from);
          case ScalarType::Kind::kFloat:
            if (to == kDoubleType) return wide::to_double(from);
            return wide::to_float(from);
          case ScalarType::Kind::kInt:
            return to == kIntType ? wide::to_int(from) : wide::to_int(from, least_of(to), most_of(to));
          case ScalarType::Kind::kUint:
            return to == kUintType ? wide::to_uint(from) : wide::to_uint(from, static_cast<wide::Uint>(most_of(to)));
          case ScalarType::Kind::kVoid: break;
        }
        return false;
      },
      value);
}

SizeValue computed_size(Op op, std::span<const SizeValue> operands) {
  return std::visit(
      [&](auto a) -> SizeValue {
        using T = decltype(a);
        return computed_by<T>(op, a, operands.size() > 1 ? std::get<T>(operands[1]) : T());
      },
      operands.front());
}

}  // namespace casync::compll
