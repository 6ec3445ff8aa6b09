// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "compll/ops/cpu/convert.h"
#include "runtime/session/session.h"
#include "tests/support/drawn.h"

namespace casync::test {

using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

inline View view_of(std::vector<float>& values) {
  return {reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(float)};
}

/// The gradient of rank `rank`: the same on every run, different for each rank, gradient and step.
inline std::vector<float> contribution(int rank, std::size_t elements, std::uint32_t salt) {
  static Drawn<std::pair<std::size_t, unsigned>> drawn;
  const unsigned seed = 1000u * salt + static_cast<unsigned>(rank);
  return drawn.get({elements, seed}, [&] {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(elements);
    for (float& value : values) value = normal(generator);
    return values;
  });
}

/// The average in rank order, as the owner of each partition adds it.
inline std::vector<float> average(int ranks, std::size_t elements, std::uint32_t salt) {
  std::vector<float> sum(elements, 0.0f);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<float> one = contribution(rank, elements, salt);
    for (std::size_t i = 0; i < elements; ++i) sum[i] = rank == 0 ? one[i] : sum[i] + one[i];
  }
  const float scale = 1.0f / static_cast<float>(ranks);
  for (float& value : sum) value *= scale;
  return sum;
}

inline std::string reduce(Session& session, GradientId id, std::vector<float>& values) {
  const Submission one{id, view_of(values)};
  Result<std::vector<Handle>> handles = session.submit({&one, 1});
  if (!handles) return handles.status().text();
  const Status status = session.wait((*handles)[0], -1);
  return status.is_ok() ? "" : status.text();
}

/// Runs one step: submits, waits, ends it. Returns "" or what went wrong.
inline std::string step(Session& session, GradientId id, std::vector<float>& values) {
  if (std::string bad = reduce(session, id, values); !bad.empty()) return bad;
  const Result<StepResult> done = session.step();
  return done ? "" : done.status().text();
}

/// Runs a step of these values in float16, and ends it.
inline Result<StepResult> step_in_float16(Session& session, GradientId id, const std::vector<float>& values) {
  std::vector<std::uint16_t> halves(values.size());
  compll::from_float32(values.data(), values.size(), DType::kFloat16, halves.data());
  const Submission one{id, {reinterpret_cast<std::byte*>(halves.data()), 2 * halves.size()}};
  if (const auto handles = session.submit({&one, 1}); !handles) return handles.status();
  return session.step();
}

inline Result<GradientId> declare(Session& session, const std::string& name, std::size_t elements) {
  return session.declare({name, DType::kFloat32, {static_cast<std::int64_t>(elements)}, 0});
}

inline std::function<void(SessionOptions&)> codec(const std::string& name) {
  return [name](SessionOptions& options) { options.codec = CodecChoice{name, {}}; };
}

inline std::function<void(SessionOptions&)> choose(const CodecChoice& choice) {
  return [=](SessionOptions& options) { options.codec = choice; };
}

/// NaN if there are not as many, or one of them is: no comparison with it holds.
inline double relative_error(const std::vector<float>& values, const std::vector<float>& wanted) {
  if (values.size() != wanted.size()) return std::numeric_limits<double>::quiet_NaN();
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    error += std::pow(double(values[i]) - wanted[i], 2);
    norm += std::pow(double(wanted[i]), 2);
  }
  return norm == 0 ? error : std::sqrt(error / norm);
}

}  // namespace casync::test
