// SPDX-License-Identifier: Apache-2.0
#include "compll/interpreter/reductions.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/check.h"

namespace casync::compll {
namespace {

Scalar sum_of(ScalarType type, std::span<const Scalar> elements) {
  if (type.is_integer()) {
    std::uint32_t sum = 0;  // wraps around, so the order is of no account
    for (const Scalar element : elements) sum += element.as_uint();
    return Scalar::of_uint(sum);
  }
  std::vector<double> wide(elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) wide[i] = elements[i].as_number(type);
  const auto add = [](std::span<double> sums, std::span<const double> terms) {
    for (std::size_t i = 0; i < terms.size(); ++i) sums[i] += terms[i];
  };
  const auto reduce = [&](std::span<const double> chunk) { return reduced_in_lanes(chunk, 0.0, add); };
  return Scalar::of_double(reduced_in_chunks<double>(wide, reduce));
}

/// The greatest value of a type, or the least one.
Scalar end_of(ScalarType type, bool greatest) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (type.is_float()) return Scalar::of(type, greatest ? infinity : -infinity);
  return Scalar::of(type, static_cast<double>(greatest ? most_of(type) : least_of(type)));
}

Scalar end_found(Op op, ScalarType type, std::span<const Scalar> elements) {
  const auto combine = [&](std::span<Scalar> into, std::span<const Scalar> with) { compute(op, type, into, with); };
  const Scalar identity = end_of(type, op == Op::kMin);
  const auto reduce = [&](std::span<const Scalar> chunk) { return reduced_in_lanes(chunk, identity, combine); };
  const Scalar found = reduced_in_chunks<Scalar>(elements, reduce);
  // A zero gets no sign, so that the order cannot be seen in it.
  return type.is_float() && found.as_number(type) == 0 ? Scalar::of(type, 0) : found;
}

}  // namespace

Scalar reduced_by(Reducer reducer, ScalarType type, std::span<const Scalar> elements) {
  switch (reducer) {
    case Reducer::kSum: return sum_of(type, elements);
    case Reducer::kMin: return end_found(Op::kMin, type, elements);
    case Reducer::kMax: return end_found(Op::kMax, type, elements);
    case Reducer::kMagnitude: {
      std::uint32_t top = 0;
      for (const Scalar element : elements) top = std::max(top, element.as_uint() & 0x7fffffff);
      return Scalar::of_uint(top);
    }
    case Reducer::kCount: {
      std::uint32_t count = 0;
      for (const Scalar element : elements) count += converted(element, type, kBoolType).as_uint();
      return Scalar::of_uint(count);
    }
    case Reducer::kUser: break;
  }
  CASYNC_CHECK(false);
  return {};
}

Scalar reduced(const ArrayCall& call, std::span<const Scalar> elements) {
  if (call.reducer != Reducer::kUser) return reduced_by(call.reducer, call.types.front(), elements);
  return reduced_by(call.apply, call.arguments.size() > 1 ? call.arguments[1].front() : Scalar(), elements);
}

std::vector<Scalar> block_reduce(const ArrayCall& call) {
  const std::span<const Scalar> elements = call.arguments.front();
  std::vector<Scalar> results;
  for (std::size_t b = 0; b < call.count; ++b) {
    const std::size_t begin = std::min(b * call.block, elements.size());
    results.push_back(reduced(call, elements.subspan(begin, std::min(call.block, elements.size() - begin))));
  }
  return results;
}

}  // namespace casync::compll
