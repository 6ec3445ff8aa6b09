// SPDX-License-Identifier: Apache-2.0
#include "compll/interpreter/array_operators.h"

#include <algorithm>

namespace casync::compll {

Values values_of(std::span<const float> floats) {
  Values values(floats.size());
  std::transform(floats.begin(), floats.end(), values.begin(), Scalar::of_float);
  return values;
}

std::vector<float> floats_of(const Values& values) {
  std::vector<float> floats(values.size());
  std::transform(values.begin(), values.end(), floats.begin(), [](Scalar value) { return value.as_float(); });
  return floats;
}

Values spread(const ArrayCall& call) {
  Values values(call.count);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = call.arguments.front()[i / call.block];
  return values;
}

Values range(const ArrayCall& call) {
  Values values(call.count);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = Scalar::of_uint(static_cast<std::uint32_t>(i));
  return values;
}

}  // namespace casync::compll
