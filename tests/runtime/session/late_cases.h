// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/device/host/host_device.h"
#include "runtime/session/late_gradients.h"
#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/lone_session.h"

/// Gradients whose results come late, without a session.
namespace casync::test::late {

using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

using Values = std::vector<float>;

/// Gradients of two elements, on the host.
struct Gradients {
  explicit Gradients(std::uint32_t staleness) : table(*device, staleness) {}

  LateGradient& add(unsigned id, const std::string& name) {
    return **table.add(GradientId(id), {name, DType::kFloat32, {2}, 0});
  }

  const std::unique_ptr<Device> device = make_host_device();
  LateGradients table;
};

/// Submits `values` in `step` and hands over the result of an earlier step.
inline void exchange(LateGradient& gradient, Values& values, std::uint32_t step) {
  static_cast<void>(gradient.take({GradientId(0), view_of(values)}, step));
  static_cast<void>(gradient.hand_over());
}

/// Puts the result of `step` where its submission was.
inline void reduce(LateGradient& gradient, std::uint32_t step, const Values& result) {
  const View slot = gradient.to_reduce(GradientId(0), step).value().data;
  std::copy(result.begin(), result.end(), reinterpret_cast<float*>(slot.data));
}

}  // namespace casync::test::late
