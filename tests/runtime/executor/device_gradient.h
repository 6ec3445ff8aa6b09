// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "runtime/device/host/host_device.h"
#include "runtime/executor/kernel_table.h"
#include "runtime/executor/run_states.h"
#include "runtime/session/declarations.h"

namespace casync::test {

/// A gradient of rank 0 of two in step 3, on a device that is the host. It is large enough for any memory of residuals.
struct DeviceGradient {
  static constexpr std::int64_t kRows = 250, kColumns = 400;

  explicit DeviceGradient(const Choice& choice) {
    Plan plan;
    plan.defaults = choice;
    if (!choice.partitions) plan.defaults.partitions = 2;  // so that it merges one and encodes the other
    const Topology topology = Topology::flat(2);
    const auto declared = runtime::declare_gradient(plan, {"weight", DType::kFloat32, {kRows, kColumns}, 0}, topology);
    CASYNC_CHECK(declared);
    run = std::move(runtime::make_run(*declared, topology, 0, 0)).value();
    CASYNC_CHECK(runtime::allocate_kept(*run, *device).is_ok());
    run->for_each([&](runtime::GradientRun& one) {
      one.move_to_device();
      CASYNC_CHECK(kernels.take_in(one).is_ok());
    });
    run->begin(3, {});
    run->device.begin(runtime::DeviceView::of(values.data(), values.size() * sizeof(float)), nullptr);
  }
  /// The first task of a kind in its graph.
  template <class Task>
  const Task& first() const {
    for (const Primitive& one : run->graph.tasks()) {
      if (const Task* found = std::get_if<Task>(&one)) return *found;
    }
    CASYNC_CHECK(false);
    return std::get<Task>(run->graph.tasks()[0]);
  }

  const std::unique_ptr<runtime::Device> device = runtime::make_host_device();
  runtime::KernelTable kernels{*device, 1};
  std::unique_ptr<runtime::GradientRun> run;
  std::vector<float> values = std::vector<float>(kRows * kColumns);
};

}  // namespace casync::test
