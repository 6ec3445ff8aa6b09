// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/declarations.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "casync/planner/decide.h"
#include "casync/strategies/exchange.h"
#include "casync/strategies/reduce_scatter.h"
#include "compll/codec/element_limit.h"
#include "compll/codec/kept.h"
#include "compll/codec/rounds_codec.h"
#include "runtime/session/agreement.h"
#include "runtime/session/asynchronous_run.h"
#include "runtime/session/copied.h"
#include "runtime/session/difference_gossip.h"
#include "runtime/session/hop_codecs.h"
#include "runtime/session/inner_runs.h"
#include "runtime/session/scattered.h"

namespace casync::runtime {
namespace {

// Offsets in messages and indices in codecs are 32 bits where 64 would cost bandwidth.
constexpr Elements kMostElements = Elements{1} << 32;
constexpr std::size_t kLongestName = 4096;

/// PlanError: what this gradient keeps cannot be as the plan chooses.
Status check_residual_memory(const Declared& declared, const GradientRun& run) {
  if (declared.decision.residual_memory == ResidualMemory::kTwoBuffers) return Status::ok();
  if (declared.neighbours != Neighbours::kAll && !is_exact(declared)) {
    return plan_error("residual_memory " + std::string(name_of(declared.decision.residual_memory)) +
                      ": gossip with codecs keeps copies of the neighbours' parameters, in one buffer of float32 as it "
                      "is; leave it out");
  }
  const auto check = declared.decision.residual_memory == ResidualMemory::kOneBuffer ? compll::check_one_buffer
                                                                                     : compll::check_bfloat16;
  if (run.rounds) return check(run.rounds->codec->info());
  CASYNC_RETURN_IF_ERROR(check(run.codec(Hop::kFirst).info()));
  return check(run.codec(Hop::kSecond).info());
}

}  // namespace

Status check_shape(const GradientSpec& gradient) {
  if (gradient.name.empty()) return invalid_argument("a gradient needs a name");
  if (gradient.name.size() > kLongestName) {
    return invalid_argument("gradient " + gradient.name.substr(0, 64) + "...: its name has " +
                            std::to_string(gradient.name.size()) + " characters, expected at most " +
                            std::to_string(kLongestName));
  }
  Elements elements = 1;
  for (std::int64_t extent : gradient.shape) {
    if (extent < 0) {
      return invalid_argument("gradient " + gradient.name + ": an extent of " + std::to_string(extent) +
                              ", expected 0 or more");
    }
    if (extent > 0 && elements > kMostElements / static_cast<Elements>(extent)) {
      return invalid_argument("gradient " + gradient.name + ": its shape has over 2^32 elements");
    }
    elements *= static_cast<Elements>(extent);
  }
  return Status::ok();
}

Result<Declared> declare_gradient(const Plan& plan, const GradientSpec& gradient, const Topology& topology) {
  CASYNC_RETURN_IF_ERROR(check_shape(gradient));
  const auto named = [&](const Status& status) {
    return Status(status.code(), "gradient " + gradient.name + ": " + status.message());
  };
  const Status decided = check_decided(plan, gradient.name);
  if (!decided) return named(decided);
  Result<Decision> decision =
      with_rounds_where_they_pay(decide(plan, gradient, topology.ranks, payload_bits_of), gradient);
  if (!decision) return named(decision.status());
  Declared declared{gradient, std::move(*decision), XXH3_64bits(gradient.name.data(), gradient.name.size())};
  declared.neighbours = plan.mode.neighbours;
  declared.gamma = plan.mode.gamma;
  declared.asynchronous = plan.mode.asynchronous;
  // In half precision `none` is a cast to the gradient's type. make_run() checks the decision with these codecs: it
  // refuses a strategy of one hop if the codecs of the two hops differ.
  declared.decision.codec = for_dtype(declared.decision.codec, gradient.dtype);
  declared.decision.second_hop = for_dtype(declared.decision.second_hop, gradient.dtype);
  if (gradient.scattered) {
    if (const Status able = check_scattered(plan.mode, declared, topology); !able) return named(able);
    scatter(topology.ranks, declared.decision);
  }
  if (plan.mode.is_gossip()) {
    if (const Status exact = check_gossip(declared); !exact) return named(exact);
  }
  if (plan.mode.is_asynchronous()) {
    if (const Status one_by_one = check_asynchronous(declared); !one_by_one) return named(one_by_one);
  }
  Result<std::unique_ptr<GradientRun>> run = make_run(declared, topology, 0, 0);
  if (!run) return named(run.status());
  if (Status fits = check_residual_memory(declared, **run); !fits) return named(fits);
  declared.text = text_of(declared.spec, declared.decision);
  return declared;
}

Status check_memory(const GradientSpec& gradient, View memory) {
  const auto refused = [&](const std::string& why) {
    return invalid_argument("gradient " + gradient.name + ": " + why);
  };
  if (memory.size != gradient.bytes()) {
    return refused(std::to_string(memory.size) + " bytes, declared with " + std::to_string(gradient.bytes()));
  }
  if (memory.size > 0 && memory.data == nullptr) return refused("no memory");
  if (reinterpret_cast<std::uintptr_t>(memory.data) % bytes_of(gradient.dtype) != 0) {
    return refused("its memory is not aligned to its elements");
  }
  return Status::ok();
}

Status submitted_twice(const GradientSpec& gradient, std::uint32_t step) {
  return invalid_argument("gradient " + gradient.name + " was submitted twice in step " + std::to_string(step) +
                          ": end the step first");
}

Status exchanges_nothing(const SyncMode& mode, std::uint32_t step) {
  const std::string name = mode.is_gossip() ? "gossip" : "local_sgd";
  const std::string values = mode.is_gossip() ? "parameters" : "parameters' differences";
  return invalid_argument("step " + std::to_string(step) + " exchanges nothing: by the plan's " + name +
                          " ranks go on alone, and exchange their " + values + " once in " +
                          std::to_string(mode.every) + " steps");
}

namespace {

/// InvalidArgument: a partition has more elements than a codec of the decision.
Status check_partition(const Declared& declared, const HopCodecs& codecs, int ranks) {
  const auto partitions = static_cast<std::size_t>(declared.decision.partitions);
  const Elements elements = declared.spec.elements();
  const Elements largest = declared.spec.scattered ? shard_partition(elements, ranks, partitions, 0).count
                                                   : partition_slice(elements, partitions, 0).count;
  for (const auto* codec : {&codecs.first, &codecs.second}) {
    if (Status status = compll::check_elements((*codec)->info(), largest); !status) {
      return Status(status.code(), "gradient " + declared.spec.name + ", partition 0: " + status.message());
    }
  }
  return Status::ok();
}

}  // namespace

Result<std::unique_ptr<GradientRun>> make_run(const Declared& declared, const Topology& topology, Rank self,
                                              std::size_t first_owner) {
  if (declared.copied) return make_copied_run(declared, topology, self);
  const Decision& decision = declared.decision;
  if (declared.neighbours != Neighbours::kAll && !is_exact(declared)) {
    return make_difference_gossip(declared, topology, self, first_owner);
  }
  if (compll::has_rounds(decision.codec.name)) return make_rounds_run(declared, topology, self, first_owner);
  Result<HopCodecs> codecs = make_codecs(decision, declared.spec.dtype);
  if (!codecs) return codecs.status();
  if (!declared.asynchronous) {
    return make_graph_run(declared, std::move(*codecs), decision, topology, self, first_owner);
  }
  CASYNC_RETURN_IF_ERROR(check_partition(declared, *codecs, topology.ranks));
  return make_asynchronous(declared, topology, self, first_owner);
}

Result<std::unique_ptr<GradientRun>> make_graph_run(const Declared& declared, HopCodecs codecs, const Decision& named,
                                                    const Topology& topology, Rank self, std::size_t first_owner) {
  CASYNC_RETURN_IF_ERROR(check_partition(declared, codecs, topology.ranks));
  const Decision& decision = declared.decision;
  Result<TaskGraph> graph =
      declared.spec.scattered ? make_scattered_graph(declared, topology, self)
                              : make_graph(decision, declared.spec.elements(), topology, self, first_owner, traits_of);
  if (!graph) return graph.status();
  auto run = std::make_unique<GradientRun>(declared.spec, named, std::move(*graph), std::move(codecs),
                                           RunName{declared.key, self});
  if (decision.servers.dedicated) run->scale.count(topology.ranks - decision.servers.count);
  CASYNC_RETURN_IF_ERROR(add_warm_up(declared, topology, first_owner, *run));
  if (declared.neighbours != Neighbours::kAll) {
    CASYNC_RETURN_IF_ERROR(add_gossip(declared, declared.neighbours, topology, *run));
  }
  return run;
}

std::string state_label(const Decision& decision, const Topology& topology) {
  std::string label = identity_of(decision.codec) + " / " + identity_of(decision.second_hop) + ", " +
                      std::string(name_of(decision.strategy)) + ", " + std::to_string(decision.partitions) +
                      " partitions";
  if (owner_count(decision.servers, topology.ranks) < topology.ranks) label += ", " + text_of(decision.servers);
  if (strategy_of(decision.strategy).levels) label += ", ranks " + text_of(topology);
  return label;
}

}  // namespace casync::runtime
