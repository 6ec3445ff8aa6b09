// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/asynchronous_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "casync/patterns/servers.h"
#include "casync/strategies/asynchronous.h"
#include "compll/codec/rounds_codec.h"
#include "runtime/executor/answering.h"
#include "runtime/session/hop_codecs.h"
#include "runtime/session/inner_runs.h"

namespace casync::runtime {
namespace {

constexpr std::uint64_t kOwnerPart = kFirstGossipPart, kConsensusPart = kFirstGossipPart + 1;

Status check_answered(const CodecChoice& choice) {
  const std::string use = ": with `asynchronous` use a codec without one, such as `none`, `int8`, `onebit` or `topk`";
  if (compll::has_rounds(choice.name)) {
    return plan_error("codec `" + choice.name + "` has exchanges of all ranks within a step, and owners answer ranks " +
                      "one by one" + use);
  }
  Result<std::unique_ptr<compll::Codec>> codec = compll::make_codec(choice.name, choice.parameters);
  if (!codec) return codec.status();
  const compll::CodecInfo& info = (*codec)->info();
  if (info.votes) {
    return plan_error("codec `" + choice.name + "` counts the votes of all ranks to a step, and owners answer ranks " +
                      "one by one" + use);
  }
  if (info.coded_terms) {
    return plan_error("codec `" + choice.name + "` keeps a state beside a residual, which is that of a step of all " +
                      "ranks" + use);
  }
  if (info.has_result) {
    return plan_error("codec `" + choice.name + "` makes its result of the codes of all ranks to a step, and owners " +
                      "answer ranks one by one" + use);
  }
  return Status::ok();
}

/// By rank: false for dedicated servers. The decision is one that make_graph() takes.
std::vector<bool> contributors_of(const Servers& servers, const Topology& topology) {
  std::vector<bool> contributes(static_cast<std::size_t>(topology.ranks), true);
  if (!servers.dedicated) return contributes;
  for (const Rank server : server_ranks(topology.node_of, topology.ranks, servers.count)) {
    contributes[static_cast<std::size_t>(server)] = false;
  }
  return contributes;
}

std::vector<Answering::Owned> owned_partitions(const TaskGraph& own_step, Rank self) {
  std::vector<Answering::Owned> owned;
  for (const Primitive& task : own_step.tasks()) {
    const Recv* const recv = std::get_if<Recv>(&task);
    if (recv == nullptr || recv->from != self) continue;
    owned.push_back({recv->id.partition, own_step.buffers()[TaskGraph::index(recv->to)].slice});
  }
  std::sort(owned.begin(), owned.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  return owned;
}

Result<std::unique_ptr<GradientRun>> make_side(const Declared& declared, const Topology& topology,
                                               std::size_t first_owner, GradientRun& run) {
  Result<HopCodecs> codecs = make_codecs(declared.decision, declared.spec.dtype);
  if (!codecs) return codecs.status();
  Result<TaskGraph> graph =
      make_graph(declared.decision, declared.spec.elements(), topology, run.self, first_owner, traits_of, &owner_graph);
  if (!graph) return graph.status();
  const bool residuals = codecs->second->info().states != 0;
  RunExtras extras;
  extras.answering =
      std::make_unique<Answering>(*declared.asynchronous, *graph, owned_partitions(run.graph, run.self),
                                  contributors_of(declared.decision.servers, topology), run.self, residuals);
  auto side =
      std::make_unique<GradientRun>(declared.spec, declared.decision, std::move(*graph), std::move(*codecs),
                                    RunName{key_of(declared.spec.name, kOwnerPart), run.self}, std::move(extras));
  side->related.belong_to(run);
  side->buffers.borrow_slots();  // its messages have their places in `answering`
  side->scale.count(run.scale.contributors());
  return side;
}

Result<std::unique_ptr<GradientRun>> make_consensus(const Declared& declared, const Topology& topology,
                                                    std::size_t first_owner, GradientRun& run) {
  Declared parameters{declared.spec, declared.decision, key_of(declared.spec.name, kConsensusPart)};
  parameters.decision.codec = parameters.decision.second_hop = for_dtype({}, declared.spec.dtype);
  Result<std::unique_ptr<GradientRun>> made = make_run(parameters, topology, run.self, first_owner);
  if (!made) return made;
  (*made)->related.belong_to(run);
  (*made)->scale.average(run.scale.contributors());
  return made;
}

}  // namespace

Status check_asynchronous(const SyncMode& mode, int ranks) {
  if (!mode.is_asynchronous() || mode.asynchronous->first <= static_cast<std::uint32_t>(ranks)) return Status::ok();
  return invalid_argument(
      fmt::format("the plan's asynchronous has first: {}, and this job has {}, expected at most as "
                  "many",
                  mode.asynchronous->first, ranks == 1 ? "1 rank" : fmt::format("{} ranks", ranks)));
}

Status check_asynchronous(const Declared& declared) {
  const Decision& decision = declared.decision;
  if (decision.strategy != StrategyKind::kPs) {
    return plan_error("strategy `" + std::string(name_of(decision.strategy)) +
                      "` makes one result for all ranks, and " +
                      "`asynchronous` an answer for each: use strategy `ps`");
  }
  if (decision.warm_up_steps > 0) {
    return plan_error(
        "warm-up steps are those of all ranks together, and with `asynchronous` each rank is in its own: "
        "leave `warm_up_steps` out");
  }
  CASYNC_RETURN_IF_ERROR(check_answered(decision.codec));
  return check_answered(decision.second_hop);
}

Result<std::unique_ptr<GradientRun>> make_asynchronous(const Declared& declared, const Topology& topology, Rank self,
                                                       std::size_t first_owner) {
  const Decision& decision = declared.decision;
  Result<HopCodecs> codecs = make_codecs(decision, declared.spec.dtype);
  if (!codecs) return codecs.status();
  Result<TaskGraph> graph =
      make_graph(decision, declared.spec.elements(), topology, self, first_owner, traits_of, &asynchronous_graph);
  if (!graph) return graph.status();
  const std::vector<bool> contributes = contributors_of(decision.servers, topology);
  RunExtras extras;
  extras.asynchronous = std::make_unique<AsynchronousStep>(!contributes[static_cast<std::size_t>(self)]);
  auto run = std::make_unique<GradientRun>(declared.spec, decision, std::move(*graph), std::move(*codecs),
                                           RunName{declared.key, self}, std::move(extras));
  run->scale.count(static_cast<int>(std::count(contributes.begin(), contributes.end(), true)));
  if (declared.asynchronous->first > static_cast<std::uint32_t>(run->scale.contributors())) {
    return plan_error(fmt::format("the plan's asynchronous has first: {}, and {} of {} ranks leave {} to contribute",
                                  declared.asynchronous->first, text_of(decision.servers), topology.ranks,
                                  run->scale.contributors()));
  }
  Result<std::unique_ptr<GradientRun>> side = make_side(declared, topology, first_owner, *run);
  if (!side) return side;
  if ((*side)->answering->partitions() > 0) run->asynchronous->own(std::move(*side));
  Result<std::unique_ptr<GradientRun>> consensus = make_consensus(declared, topology, first_owner, *run);
  if (!consensus) return consensus;
  run->related.add_consensus(std::move(*consensus));
  return run;
}

}  // namespace casync::runtime
