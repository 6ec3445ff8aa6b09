// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/session_nccl.h"

#include "base/env.h"
#include "compll/codec/rounds_codec.h"
#include "runtime/collective/nccl/nccl_transport.h"

namespace casync::runtime {

Status check_over_nccl(const Device& device, const Plan& plan) {
  if (device.is_host()) {
    return invalid_argument(
        "the transport nccl moves memory of GPUs, and this session is on the CPU: open it on a device such as cuda:0, "
        "or use the transport ucx");
  }
  if (env_text("CASYNC_LINK")) return invalid_argument("CASYNC_LINK paces no NCCL: use the transport ucx with it");
  if (plan.coordinated) {
    return invalid_argument("a coordinated plan orders the messages of links, and NCCL has none of its own: leave " +
                            std::string("`coordinated` out of the plan, or use the transport ucx"));
  }
  return Status::ok();
}

Status check_over_nccl(const Declared& declared) {
  const Decision& decision = declared.decision;
  const auto refused = [&](const std::string& why) {
    return unimplemented("gradient " + declared.spec.name + ": over nccl " + why + ", or use the transport ucx");
  };
  if (declared.spec.dtype != DType::kFloat32) {
    return refused("gradients are float32, and this one is " + std::string(name_of(declared.spec.dtype)) + ": cast it");
  }
  if (compll::has_rounds(decision.codec.name)) {
    return refused("codec `" + decision.codec.name + "` has no turns yet: choose another codec for it");
  }
  if (decision.warm_up_steps > 0) return refused("there is no warm-up yet: leave `warm_up_steps` out of the plan");
  const bool is_plain = decision.codec.name == "none" && decision.second_hop.name == "none";
  if (!is_plain && decision.strategy != StrategyKind::kPs) {
    return refused("codes go by the strategy ps alone yet, and this gradient's is " +
                   std::string(name_of(decision.strategy)) + ": choose ps in the plan");
  }
  return Status::ok();
}

Status not_submitted(const GradientSpec& gradient, std::uint32_t step) {
  return invalid_argument("gradient " + gradient.name + " was not submitted in step " + std::to_string(step) +
                          ": over nccl every rank submits all that it has declared in each step: submit zeros where a "
                          "parameter is not used, or use the transport ucx");
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
