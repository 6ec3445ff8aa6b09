// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "tests/runtime/session/device_runs.h"
#include "tests/runtime/session/lacks_ucx.h"
#include "tests/support/ranks.h"

/// Sessions by a plan, on the host and on a GPU.
namespace casync::test::device {

/// "" or what went wrong.
inline std::string run(int ranks, bool on_device, const std::string& plan, AllSeen& seen,
                       const Values& values = gaussians, const std::string& nodes = "",
                       const std::string& transport = "loopback", DType dtype = DType::kFloat32) {
  const TemporaryDirectory directory = TemporaryDirectory::in_memory();
  const std::string path = directory.path() + "/plan.txtpb";
  std::ofstream(path) << "version: 1 seed: 5 " << plan << "\n";
  const auto configure = [&](SessionOptions& options) {
    options.plan_file = path;
    if (!nodes.empty()) options.launch.node = nodes.substr(static_cast<std::size_t>(*options.launch.rank), 1);
  };
  return run_steps(ranks, on_device, configure, seen, values, transport, dtype);
}

/// "", or how a device's results differ from the host's. train(on_device, seen) returns "" or what went wrong.
template <class Train>
std::string compare_both(const Train& train) {
  AllSeen host, device;
  for (const bool on_device : {false, true}) {
    const std::string bad = train(on_device, on_device ? device : host);
    if (!bad.empty()) return (on_device ? "device: " : "host: ") + bad;
  }
  return difference(host, device);
}

inline std::string compare(int ranks, const std::string& plan, const Values& values = gaussians,
                           const std::string& nodes = "", const std::string& transport = "loopback",
                           DType dtype = DType::kFloat32) {
  return compare_both([&](bool on_device, AllSeen& seen) {
    return run(ranks, on_device, plan, seen, values, nodes, transport, dtype);
  });
}

/// The same of a strategy that may refuse the codec: "" where the host's sessions do.
inline std::string compare_if_taken(int ranks, const std::string& plan, const std::string& nodes,
                                    DType dtype = DType::kFloat32) {
  AllSeen host, device;
  if (!run(ranks, false, plan, host, gaussians, nodes, "loopback", dtype).empty()) return "";
  const std::string bad = run(ranks, true, plan, device, gaussians, nodes, "loopback", dtype);
  return bad.empty() ? difference(host, device) : "device: " + bad;
}

/// Checks that a device's results over TCP are the host's in one process. train(transport, on_device, seen) as above.
template <class Train>
void check_over_tcp(const Train& train) {
  AllSeen host, device;
  REQUIRE(train("loopback", false, host) == "");
  const std::string complaints = train("ucx:tcp", true, device);
  if (lacks_ucx(complaints)) return;
  REQUIRE(complaints == "");
  CHECK(difference(host, device) == "");
}

inline std::string plan_of(const std::string& codec, const std::string& strategy, const std::string& more = "") {
  return "default { codec { name: \"" + codec + "\" } strategy: " + strategy + " partitions: 3 " + more + " }";
}

}  // namespace casync::test::device
