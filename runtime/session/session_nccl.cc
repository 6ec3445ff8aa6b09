// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/session_nccl.h"

#include "base/env.h"
#include "runtime/collective/nccl/nccl_transport.h"

namespace casync::runtime {

Status check_over_nccl(const Device& device, const Plan& plan) {
  if (device.is_host()) {
    return invalid_argument(
        "the transport nccl moves memory of GPUs, and this session is on the CPU: open it on a device such as cuda:0, "
        "or use the transport ucx");
  }
  if (plan.mode.is_gossip()) {
    return unimplemented(
        "gossip goes to neighbours alone, each pair of ranks in its own time, and over nccl all ranks "
        "join in each exchange: use the transport ucx with it");
  }
  if (plan.mode.is_asynchronous()) {
    return unimplemented(
        "asynchronous ranks are in different steps, and over nccl all ranks join in each exchange: use "
        "the transport ucx with it");
  }
  if (env_text("CASYNC_LINK")) return invalid_argument("CASYNC_LINK paces no NCCL: use the transport ucx with it");
  if (plan.coordinated) {
    return invalid_argument("a coordinated plan orders the messages of links, and NCCL has none of its own: leave " +
                            std::string("`coordinated` out of the plan, or use the transport ucx"));
  }
  if (plan.credit_bytes > 0) {
    return invalid_argument("a credit counts the messages of ports, and NCCL has none of its own: leave " +
                            std::string("`credit_bytes` out of the plan, or use the transport ucx"));
  }
  return Status::ok();
}

Status not_submitted(const GradientSpec& gradient, std::uint32_t step) {
  return invalid_argument("gradient " + gradient.name + " was not submitted in step " + std::to_string(step) +
                          ": over nccl every rank submits all that it has declared in each step: submit zeros where a "
                          "parameter is not used, or use the transport ucx");
}

Status scattered_over_nccl(const GradientSpec& gradient) {
  return unimplemented("gradient " + gradient.name +
                       ": over nccl owners of shards cannot tell the others that their sums are finite: declare it "
                       "without scatter, or use the transport ucx");
}

Result<std::unique_ptr<RoundTransport>> open_nccl_of(Group& group, Rank rank, int ranks, Stream& stream,
                                                     Clock::time_point deadline) {
  const Result<const NcclApi*> api = find_nccl();
  if (!api) return api.status();
  std::string own;
  if (rank == 0) {
    Result<std::string> made = make_nccl_id(**api);
    if (!made) return made.status();
    own = std::move(*made);
  }
  const Result<std::vector<std::string>> ids = group.all_gather("the id of NCCL", own, deadline);
  if (!ids) return ids.status();
  NcclOptions options;
  options.rank = rank;
  options.ranks = ranks;
  options.id = ids->front();
  options.stream = &stream;
  options.interrupted = [&group] { return group.failure(); };
  return open_nccl(**api, options, deadline);
}

}  // namespace casync::runtime
