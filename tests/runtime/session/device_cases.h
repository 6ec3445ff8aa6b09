// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <string>

#include "tests/runtime/session/device_runs.h"
#include "tests/support/ranks.h"

/// Sessions by a plan, on the host and on a GPU.
namespace casync::test::device {

/// "" or what went wrong.
inline std::string run(int ranks, bool on_device, const std::string& plan, AllSeen& seen,
                       const Values& values = gaussians, const std::string& nodes = "",
                       const std::string& transport = "loopback", DType dtype = DType::kFloat32) {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/plan.txtpb";
  std::ofstream(path) << "version: 1 seed: 5 " << plan << "\n";
  const auto configure = [&](SessionOptions& options) {
    options.plan_file = path;
    if (!nodes.empty()) options.launch.node = nodes.substr(static_cast<std::size_t>(*options.launch.rank), 1);
  };
  return run_steps(ranks, on_device, configure, seen, values, transport, dtype);
}

inline std::string compare(int ranks, const std::string& plan, const Values& values = gaussians,
                           const std::string& nodes = "", const std::string& transport = "loopback",
                           DType dtype = DType::kFloat32) {
  AllSeen host, device;
  for (const bool on_device : {false, true}) {
    AllSeen& seen = on_device ? device : host;
    const std::string bad = run(ranks, on_device, plan, seen, values, nodes, transport, dtype);
    if (!bad.empty()) return (on_device ? "device: " : "host: ") + bad;
  }
  return difference(host, device);
}

inline std::string plan_of(const std::string& codec, const std::string& strategy, const std::string& more = "") {
  return "default { codec { name: \"" + codec + "\" } strategy: " + strategy + " partitions: 3 " + more + " }";
}

}  // namespace casync::test::device
