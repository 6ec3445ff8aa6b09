// SPDX-License-Identifier: Apache-2.0
#include "compll/interpreter/selection.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "compll/interpreter/array_operators.h"

namespace casync::compll {
namespace {

/// The key by which `largest` and `kth_largest` compare elements: 0 for elements that are not above zero.
std::uint32_t key_of(Scalar element, ScalarType type) {
  if (type.kind == ScalarType::Kind::kUint) return element.as_uint();
  return element.as_int() > 0 ? element.as_uint() : 0;
}

std::vector<Scalar> places(std::vector<std::uint32_t> found, Elements count) {
  found.resize(count, kNowhere);
  std::vector<Scalar> values;
  for (const std::uint32_t place : found) values.push_back(Scalar::of_uint(place));
  return values;
}

/// Multiplies `size` elements, a power of two, by the matrix of ones and minus ones, then by 1 / sqrt(size).
void transform(float* x, std::size_t size) {
  for (std::size_t half = 1; half < size; half *= 2) {
    for (std::size_t first = 0; first < size; first += 2 * half) {
      for (std::size_t i = first; i < first + half; ++i) {
        const float a = x[i], b = x[i + half];
        x[i] = a + b;
        x[i + half] = a - b;
      }
    }
  }
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(size)));
  for (std::size_t i = 0; i < size; ++i) x[i] *= scale;
}

/// a + b as the program would compute it, then as an element of this type again.
Scalar sum_of(ScalarType type, Scalar a, Scalar b) {
  if (type.is_float()) return computed(Op::kAdd, type, std::array{a, b});
  const ScalarType wide = type == kUintType ? kUintType : kIntType;
  return converted(computed(Op::kAdd, wide, std::array{a, b}), wide, type);
}

/// Changes the elements at places to what `change` makes of each and of its value.
template <class Change>
std::vector<Scalar> scattered(const ArrayCall& call, const Change& change) {
  const std::vector<Scalar>&places = call.arguments[0], &values = call.arguments[1];
  const bool each_its_own = values.size() == places.size();  // else there is one for all of them
  std::vector<Scalar> into = call.arguments.size() > 2 ? call.arguments[2] : std::vector<Scalar>(call.count);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::uint32_t place = places[i].as_uint();
    if (place < into.size()) into[place] = change(into[place], each_its_own ? values[i] : values.front());
  }
  return into;
}

}  // namespace

std::vector<Scalar> largest(std::span<const Scalar> keys, ScalarType type, Elements count) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> above;  // the key's complement, the place
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::uint32_t key = key_of(keys[i], type);
    if (key != 0) above.emplace_back(~key, static_cast<std::uint32_t>(i));
  }
  std::sort(above.begin(), above.end());
  std::vector<std::uint32_t> found;
  for (std::size_t i = 0; i < std::min<std::size_t>(count, above.size()); ++i) found.push_back(above[i].second);
  std::sort(found.begin(), found.end());
  return places(std::move(found), count);
}

Scalar kth_largest(std::span<const Scalar> keys, ScalarType type, std::size_t k) {
  std::vector<std::uint32_t> above;
  for (const Scalar each : keys) {
    const std::uint32_t key = key_of(each, type);
    if (key != 0) above.push_back(key);
  }
  if (k == 0 || k > above.size()) return Scalar();
  std::sort(above.begin(), above.end(), std::greater());
  return Scalar::of_uint(above[k - 1]);  // which has the bits of the element
}

std::vector<Scalar> where(std::span<const Scalar> holds, Elements count) {
  std::vector<std::uint32_t> found;
  for (std::size_t i = 0; i < holds.size() && found.size() < count; ++i) {
    if (holds[i].as_bool()) found.push_back(static_cast<std::uint32_t>(i));
  }
  return places(std::move(found), count);
}

std::vector<Scalar> sorted(std::vector<Scalar> elements, const std::function<bool(Scalar, Scalar)>& goes_before) {
  std::vector<Scalar> merged(elements.size());
  for (std::size_t run = 1; run < elements.size(); run *= 2) {
    for (std::size_t begin = 0; begin < elements.size(); begin += 2 * run) {
      std::size_t left = begin, right = std::min(begin + run, elements.size());
      const std::size_t middle = right, end = std::min(begin + 2 * run, elements.size());
      for (std::size_t to = begin; to < end; ++to) {
        const bool take_right = left == middle || (right != end && goes_before(elements[right], elements[left]));
        merged[to] = elements[take_right ? right++ : left++];
      }
    }
    elements.swap(merged);
  }
  return elements;
}

std::vector<Scalar> largest(const ArrayCall& call) {
  return largest(call.arguments.front(), call.types.front(), call.count);
}

std::vector<Scalar> where(const ArrayCall& call) { return where(call.arguments.front(), call.count); }

std::vector<Scalar> sort(const ArrayCall& call) {
  return sorted(call.arguments.front(), [&](Scalar a, Scalar b) {
    if (!call.apply) return computed(Op::kLess, call.type, std::array{a, b}).as_bool();
    call.apply({&a, 1}, {&b, 1});
    return a.as_bool();
  });
}

std::vector<Scalar> scatter(const ArrayCall& call) {
  return scattered(call, [](Scalar, Scalar value) { return value; });
}

std::vector<Scalar> scatter_add(const ArrayCall& call) {
  return scattered(call, [&](Scalar old, Scalar value) { return sum_of(call.type, old, value); });
}

std::vector<Scalar> hadamard(const ArrayCall& call) { return hadamard(call.arguments.front(), call.block); }

std::vector<Scalar> histogram(const ArrayCall& call) {
  std::vector<std::uint32_t> counts(call.count);
  for (const Scalar bin : call.arguments.front()) {
    if (bin.as_uint() < call.count) ++counts[bin.as_uint()];
  }
  std::vector<Scalar> values;
  for (const std::uint32_t each : counts) values.push_back(Scalar::of_uint(each));
  return values;
}

std::vector<Scalar> hadamard(std::span<const Scalar> elements, std::size_t block) {
  std::vector<float> x;
  for (const Scalar element : elements) x.push_back(element.as_float());
  for (std::size_t begin = 0; begin < x.size(); begin += block) {
    std::size_t left = std::min(block, x.size() - begin);
    for (float* at = x.data() + begin; left != 0;) {
      const std::size_t size = std::bit_floor(left);
      transform(at, size);
      at += size;
      left -= size;
    }
  }
  std::vector<Scalar> values;
  for (const float each : x) values.push_back(Scalar::of_float(each));
  return values;
}

}  // namespace casync::compll
