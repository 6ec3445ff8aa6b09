// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/collective/nccl/nccl_api.h"
#include "runtime/transport/loopback/factory.h"
#include "tests/runtime/session/device_runs.h"
#include "tests/runtime/session/plan_file.h"
#include "tests/support/ranks.h"

/// Sessions over NCCL on a GPU.
namespace casync::test::nccl {

using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

using runtime::NcclApi;

using Configure = std::function<void(SessionOptions&)>;

/// Makes NCCL usable: a library of the tests on the emulated driver (emulated_nccl.cc), or this machine's
/// (real_gpu.cc).
void use_nccl();

/// Over NCCL, with loopback next to it.
inline void over_nccl(SessionOptions& options) {
  use_nccl();
  options.transport = "nccl";
  options.open_transport = [](const TransportOptions& opened) { return runtime::make_loopback(opened); };
}

inline std::string plan_of(const std::string& codec, const std::string& more = "strategy: ps partitions: 3") {
  return "default { codec { name: \"" + codec + "\" } " + more + " }";
}

/// The steps of device_runs.h by this plan; "" or the complaints.
inline std::string run(int ranks, bool with_nccl, const std::string& plan, AllSeen& seen,
                       const Values& values = gaussians, DType dtype = DType::kFloat32, const std::string& nodes = "") {
  const PlanFile file("seed: 5 " + plan);
  const Configure configure = [&](SessionOptions& options) {
    options.plan_file = file.path();
    if (!nodes.empty()) options.launch.node = nodes.substr(static_cast<std::size_t>(*options.launch.rank), 1);
    if (with_nccl) over_nccl(options);
  };
  return run_steps(ranks, with_nccl, configure, seen, values, "loopback", dtype);
}

/// The difference between sessions over NCCL and sessions on the host over loopback.
inline std::string compare(int ranks, const std::string& plan, const Values& values = gaussians,
                           DType dtype = DType::kFloat32, const std::string& nodes = "") {
  AllSeen host, device;
  if (std::string bad = run(ranks, false, plan, host, values, dtype, nodes); !bad.empty()) return "host: " + bad;
  if (std::string bad = run(ranks, true, plan, device, values, dtype, nodes); !bad.empty()) return "over nccl: " + bad;
  return difference(host, device);
}

/// Sessions on a GPU over NCCL with one codec for all.
inline std::string sessions(int ranks, const std::string& codec,
                            const std::function<std::string(Session&, RankContext&)>& body, double timeout_s = 30) {
  return with_sessions(
      ranks,
      [&](SessionOptions& options) {
        options.codec = CodecChoice{codec, {}};
        options.timeout_s = timeout_s;
        on_gpu(options);
        over_nccl(options);
      },
      body);
}

/// Opens a session of one rank; its status.
inline std::string opened(const Configure& configure) {
  return with_sessions(1, configure, [](Session&, RankContext&) -> std::string { return "it opened"; });
}

}  // namespace casync::test::nccl
