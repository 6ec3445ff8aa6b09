// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/check.h"

namespace casync::compll {
namespace {

Scalar of_real(float value) { return Scalar::of_float(value); }
Scalar of_real(double value) { return Scalar::of_double(value); }

// These are inlined where the operation is a constant: then a loop over elements does not ask for it. Of two NaNs the
// first one stays; the compiler would add and multiply in either order.
template <class Real>
[[gnu::always_inline]] inline Scalar of_reals(Op op, Real a, Real b) {
  switch (op) {
    case Op::kNegate: return of_real(-a);
    case Op::kAbs: return of_real(std::fabs(a));
    case Op::kFloor: return of_real(std::floor(a));
    case Op::kCeil: return of_real(std::ceil(a));
    case Op::kRound: return of_real(std::nearbyint(a));
    case Op::kSqrt: return of_real(std::sqrt(a));
    case Op::kBits: return of_real(a);
    case Op::kIsFinite: return Scalar::of_bool(std::isfinite(a));
    case Op::kAdd: return of_real(std::isnan(a) ? a + 0 : a + b);
    case Op::kSubtract: return of_real(a - b);
    case Op::kMultiply: return of_real(std::isnan(a) ? a + 0 : a * b);
    case Op::kDivide: return of_real(a / b);
    case Op::kEqual: return Scalar::of_bool(a == b);
    case Op::kUnequal: return Scalar::of_bool(a != b);
    case Op::kLess: return Scalar::of_bool(a < b);
    case Op::kLessEqual: return Scalar::of_bool(a <= b);
    case Op::kMin: return of_real(b < a ? b : a);
    case Op::kMax: return of_real(a < b ? b : a);
    default: break;
  }
  CASYNC_CHECK(false);
  return {};
}

// Operations that int and uint share: their bits wrap around.
[[gnu::always_inline]] inline Scalar of_bits(Op op, std::uint32_t a, std::uint32_t b) {
  switch (op) {
    case Op::kNegate: return Scalar::of_uint(0 - a);
    case Op::kComplement: return Scalar::of_uint(~a);
    case Op::kFromBits: return Scalar::of_uint(a);
    case Op::kAdd: return Scalar::of_uint(a + b);
    case Op::kSubtract: return Scalar::of_uint(a - b);
    case Op::kMultiply: return Scalar::of_uint(a * b);
    case Op::kAnd: return Scalar::of_uint(a & b);
    case Op::kOr: return Scalar::of_uint(a | b);
    case Op::kXor: return Scalar::of_uint(a ^ b);
    case Op::kShiftLeft: return Scalar::of_uint(a << (b & 31));
    case Op::kEqual: return Scalar::of_bool(a == b);
    case Op::kUnequal: return Scalar::of_bool(a != b);
    default: break;
  }
  CASYNC_CHECK(false);
  return {};
}

// The ends of int's range wrap around too: -2^31 / -1 is -2^31.
template <class Integer>
[[gnu::always_inline]] inline Scalar of_integer(Op op, Integer a, Integer b) {
  const auto bits = [](auto value) { return Scalar::of_uint(static_cast<std::uint32_t>(value)); };
  const auto wide_a = static_cast<std::int64_t>(a), wide_b = static_cast<std::int64_t>(b);
  switch (op) {
    case Op::kAbs: return bits(wide_a < 0 ? -wide_a : wide_a);
    case Op::kDivide: return bits(wide_b == 0 ? 0 : wide_a / wide_b);
    case Op::kRemainder: return bits(wide_b == 0 ? 0 : wide_a % wide_b);
    case Op::kShiftRight: return bits(a >> (static_cast<std::uint32_t>(b) & 31));
    case Op::kLess: return Scalar::of_bool(a < b);
    case Op::kLessEqual: return Scalar::of_bool(a <= b);
    case Op::kMin: return bits(b < a ? b : a);
    case Op::kMax: return bits(a < b ? b : a);
    default: return of_bits(op, static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b));
  }
}

[[gnu::always_inline]] inline Scalar of_bools(Op op, bool a, bool b) {
  switch (op) {
    case Op::kNot: return Scalar::of_bool(!a);
    case Op::kAnd: return Scalar::of_bool(a && b);
    case Op::kOr: return Scalar::of_bool(a || b);
    case Op::kXor:
    case Op::kUnequal: return Scalar::of_bool(a != b);
    case Op::kEqual: return Scalar::of_bool(a == b);
    default: break;
  }
  CASYNC_CHECK(false);
  return {};
}

/// Calls work with the operation as a constant.
template <class Work>
void with_constant(Op op, const Work& work) {
  switch (op) {
    case Op::kNegate: return work(std::integral_constant<Op, Op::kNegate>());
    case Op::kAbs: return work(std::integral_constant<Op, Op::kAbs>());
    case Op::kFloor: return work(std::integral_constant<Op, Op::kFloor>());
    case Op::kCeil: return work(std::integral_constant<Op, Op::kCeil>());
    case Op::kRound: return work(std::integral_constant<Op, Op::kRound>());
    case Op::kSqrt: return work(std::integral_constant<Op, Op::kSqrt>());
    case Op::kBits: return work(std::integral_constant<Op, Op::kBits>());
    case Op::kFromBits: return work(std::integral_constant<Op, Op::kFromBits>());
    case Op::kIsFinite: return work(std::integral_constant<Op, Op::kIsFinite>());
    case Op::kNot: return work(std::integral_constant<Op, Op::kNot>());
    case Op::kComplement: return work(std::integral_constant<Op, Op::kComplement>());
    case Op::kAdd: return work(std::integral_constant<Op, Op::kAdd>());
    case Op::kSubtract: return work(std::integral_constant<Op, Op::kSubtract>());
    case Op::kMultiply: return work(std::integral_constant<Op, Op::kMultiply>());
    case Op::kDivide: return work(std::integral_constant<Op, Op::kDivide>());
    case Op::kRemainder: return work(std::integral_constant<Op, Op::kRemainder>());
    case Op::kAnd: return work(std::integral_constant<Op, Op::kAnd>());
    case Op::kOr: return work(std::integral_constant<Op, Op::kOr>());
    case Op::kXor: return work(std::integral_constant<Op, Op::kXor>());
    case Op::kShiftLeft: return work(std::integral_constant<Op, Op::kShiftLeft>());
    case Op::kShiftRight: return work(std::integral_constant<Op, Op::kShiftRight>());
    case Op::kEqual: return work(std::integral_constant<Op, Op::kEqual>());
    case Op::kUnequal: return work(std::integral_constant<Op, Op::kUnequal>());
    case Op::kLess: return work(std::integral_constant<Op, Op::kLess>());
    case Op::kLessEqual: return work(std::integral_constant<Op, Op::kLessEqual>());
    case Op::kMin: return work(std::integral_constant<Op, Op::kMin>());
    case Op::kMax: return work(std::integral_constant<Op, Op::kMax>());
    default: CASYNC_CHECK(false);
  }
}

/// Calls work with the function from a value of this type to its number.
template <class Work>
void with_number(ScalarType type, const Work& work) {
  switch (type.kind) {
    case ScalarType::Kind::kFloat:
      if (type == kDoubleType) return work([](Scalar value) { return value.as_double(); });
      return work([](Scalar value) { return static_cast<double>(value.as_float()); });
    case ScalarType::Kind::kInt: return work([](Scalar value) { return static_cast<double>(value.as_int()); });
    default: return work([](Scalar value) { return static_cast<double>(value.as_uint()); });
  }
}

}  // namespace

Scalar Scalar::of(ScalarType type, double number) {
  switch (type.kind) {
    case ScalarType::Kind::kFloat:
      return type == kDoubleType ? of_double(number) : of_float(static_cast<float>(number));
    case ScalarType::Kind::kBool: return of_bool(number != 0);
    case ScalarType::Kind::kInt: return of_int(static_cast<std::int32_t>(number));
    case ScalarType::Kind::kUint: return of_uint(static_cast<std::uint32_t>(number));
    case ScalarType::Kind::kVoid: break;
  }
  return {};
}

double Scalar::as_number(ScalarType type) const {
  switch (type.kind) {
    case ScalarType::Kind::kFloat: return type == kDoubleType ? as_double() : static_cast<double>(as_float());
    case ScalarType::Kind::kInt: return as_int();
    default: return as_uint();
  }
}

Scalar converted(Scalar value, ScalarType from, ScalarType to) {
  convert({&value, 1}, from, to);
  return value;
}

void convert(std::span<Scalar> values, ScalarType from, ScalarType to) {
  with_number(from, [&](const auto& number_of) {
    const auto for_each = [&](const auto& made) {
      for (Scalar& each : values) each = made(number_of(each));
    };
    if (to.kind == ScalarType::Kind::kBool) return for_each([](double number) { return Scalar::of_bool(number != 0); });
    if (to == kDoubleType) return for_each(Scalar::of_double);
    if (to.is_float()) return for_each([](double number) { return Scalar::of_float(static_cast<float>(number)); });
    const double least = static_cast<double>(least_of(to)), most = static_cast<double>(most_of(to));
    for_each([&](double number) {
      return std::isnan(number) ? Scalar() : Scalar::of(to, std::clamp(std::trunc(number), least, most));
    });
  });
}

Scalar computed(Op op, ScalarType type, std::span<const Scalar> operands) {
  Scalar first = operands.front();
  const Scalar second = operands.size() > 1 ? operands[1] : Scalar();
  compute(op, type, {&first, 1}, {&second, 1});
  return first;
}

void compute(Op op, ScalarType type, std::span<Scalar> first, std::span<const Scalar> second) {
  const auto for_each = [&](const auto& result) {
    with_constant(op, [&](auto constant) {
      for (std::size_t i = 0; i < first.size(); ++i) first[i] = result(constant, first[i], second[i]);
    });
  };
  switch (type.kind) {
    case ScalarType::Kind::kFloat:
      if (type == kDoubleType) {
        return for_each([](auto of, Scalar a, Scalar b) { return of_reals(of, a.as_double(), b.as_double()); });
      }
      return for_each([](auto of, Scalar a, Scalar b) { return of_reals(of, a.as_float(), b.as_float()); });
    case ScalarType::Kind::kInt:
      return for_each([](auto of, Scalar a, Scalar b) { return of_integer(of, a.as_int(), b.as_int()); });
    case ScalarType::Kind::kUint:
      return for_each([](auto of, Scalar a, Scalar b) { return of_integer(of, a.as_uint(), b.as_uint()); });
    case ScalarType::Kind::kBool:
      return for_each([](auto of, Scalar a, Scalar b) { return of_bools(of, a.as_bool(), b.as_bool()); });
    case ScalarType::Kind::kVoid: std::fill(first.begin(), first.end(), Scalar());
  }
}

}  // namespace casync::compll
