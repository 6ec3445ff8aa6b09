// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/inner_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "casync/patterns/pairs.h"
#include "casync/planner/decide.h"
#include "casync/strategies/gossip.h"
#include "compll/codec/element_limit.h"
#include "compll/codec/none.h"
#include "compll/codec/registry.h"
#include "compll/codec/rounds_codec.h"
#include "runtime/session/difference_gossip.h"
#include "runtime/session/hop_codecs.h"

namespace casync::runtime {
namespace {

// Numbers of a gradient's parts: key_of().
constexpr std::uint64_t kWarmUpPart = 1, kFirstStagePart = 1u << 16;

// Each pairing is a graph for each gradient.
constexpr int kMostPairedRanks = 64;

// As Lin et al. 2018, Deep Gradient Compression: ratios of 0.25, 0.0625, 0.0156 and 0.004, then 0.001.
constexpr std::uint32_t kStages = 4;

/// A tensor as a matrix: its first extent, by all the others; a vector, for a codec that is not made for matrices.
/// Empty: the codec needs a matrix and it is none, or it is too small.
std::pair<Elements, Elements> matrix_of(const GradientSpec& gradient, const compll::CodecInfo& info) {
  if (!info.of_matrices) return {gradient.elements(), 1};
  if (gradient.shape.size() < 2 || gradient.elements() == 0) return {};
  const auto rows = static_cast<Elements>(gradient.shape[0]);
  return {rows, gradient.elements() / rows};
}

/// Returns true if the exchanges are worth their turns: they have less than half of the bits of so many float32.
bool pays(const compll::RoundsCodec& codec, Elements rows, Elements columns) {
  return 2 * compll::exchanged_bits(codec, rows, columns) < 32 * static_cast<double>(rows * columns);
}

}  // namespace

std::uint64_t key_of(const std::string& name, std::uint64_t part) {
  return XXH3_64bits_withSeed(name.data(), name.size(), part);
}

Result<std::unique_ptr<GradientRun>> make_exchange(const Declared& declared, std::size_t round,
                                                   compll::ExchangeKind kind, Elements elements,
                                                   const Topology& topology, Rank self, std::size_t first_owner) {
  const std::string& name = declared.spec.name;
  Declared exchange{{name + " (round " + std::to_string(round + 1) + ")",
                     DType::kFloat32,
                     {static_cast<std::int64_t>(elements)},
                     declared.spec.priority},
                    declared.decision,
                    key_of(name, kWarmUpPart + 1 + round)};
  Decision& decision = exchange.decision;
  decision.codec = decision.second_hop = CodecChoice{compll::codec_of(kind), {}};
  decision.warm_up_steps = 0;
  decision.warm_up_from.reset();
  const Bytes partition = declared.spec.bytes() / static_cast<Bytes>(decision.partitions);
  decision.partitions = choose_partitions(exchange.spec.bytes(), topology.ranks,
                                          owner_count(decision.servers, topology.ranks), partition);
  Result<HopCodecs> codecs = make_codecs(decision, exchange.spec.dtype);
  if (!codecs) return codecs.status();
  if (kind == compll::ExchangeKind::kMax) {
    for (auto* codec : {&codecs->first, &codecs->second, &codecs->raw, &codecs->sum}) *codec = compll::make_greatest();
  }
  Result<std::unique_ptr<GradientRun>> made =
      make_graph_run(exchange, std::move(*codecs), decision, topology, self, first_owner + round);
  // The greatest has no scale, and whole numbers get theirs after the last hop (run_turn).
  if (made && kind != compll::ExchangeKind::kSum) (*made)->scale.average(1);
  return made;
}

namespace {

/// InvalidArgument: the gradient has more elements than a program counts. Its turns are not divided into partitions.
Status check_size(const GradientSpec& gradient, const compll::CodecInfo& info) {
  if (gradient.elements() <= compll::kMostElements) return Status::ok();
  return invalid_argument(
      fmt::format("codec `{}` takes its turns with whole gradients of at most 2^31 elements, and "
                  "this one has {}: use another codec for it",
                  info.name, gradient.elements()));
}

Result<std::unique_ptr<RoundsRun>> make_rounds_of(const Declared& declared) {
  const CodecChoice& choice = declared.decision.codec;
  Result<std::unique_ptr<compll::RoundsCodec>> codec = compll::make_rounds_codec(choice.name, choice.parameters);
  if (!codec) return codec.status();
  const auto [rows, columns] = matrix_of(declared.spec, (*codec)->info());
  CASYNC_RETURN_IF_ERROR(check_size(declared.spec, (*codec)->info()));
  return std::make_unique<RoundsRun>(std::move(*codec), rows, columns);
}

Status add_exchanges(const Declared& declared, const Topology& topology, std::size_t first_owner, GradientRun& run) {
  RoundsRun& rounds = *run.rounds;
  const std::vector<compll::ExchangeKind>& kinds = rounds.codec->info().exchanges;
  for (const Elements elements : rounds.shape.exchanged) {
    const std::size_t round = rounds.exchanges().size();
    auto exchange = make_exchange(declared, round, kinds[round], elements, topology, run.self, first_owner);
    if (!exchange) return exchange.status();
    (*exchange)->related.belong_to(run);
    rounds.add(std::move(*exchange));
  }
  return Status::ok();
}

/// `instead` until step `until`.
Status add_stage(Declared instead, std::uint32_t until, const Topology& topology, std::size_t first_owner,
                 GradientRun& run) {
  instead.decision.warm_up_steps = 0;
  instead.decision.warm_up_from.reset();
  Result<std::unique_ptr<GradientRun>> made = make_run(instead, topology, run.self, first_owner);
  if (!made) return Status(made.status().code(), "its warm-up steps: " + made.status().message());
  (*made)->related.belong_to(run);
  run.related.add_warm_up(until, std::move(*made));
  return Status::ok();
}

std::optional<double> value_of(const compll::CodecInfo& info, const std::string& parameter) {
  for (std::size_t i = 0; i < info.parameters.size(); ++i) {
    if (info.parameters[i].name == parameter) return info.values[i];
  }
  return std::nullopt;
}

void set(const std::string& parameter, double value, CodecChoice& codec) {
  const auto has_key = [&](const auto& pair) { return pair.first == parameter; };
  const auto place = std::find_if(codec.parameters.begin(), codec.parameters.end(), has_key);
  if (place == codec.parameters.end()) {
    codec.parameters.emplace_back(parameter, value);
  } else {
    place->second = value;
  }
}

/// PlanError: there is nothing that could begin with another value.
Status check_warm_up_from(const Decision& decision, const GradientRun& run) {
  const auto& [parameter, from] = *decision.warm_up_from;
  if (decision.warm_up_steps == 0) return plan_error("warm_up_from without warm_up_steps, expected both");
  if (run.rounds) {
    return plan_error("warm_up_from: codec `" + decision.codec.name +
                      "` exchanges within a step, and what it keeps depends on its parameters; without warm_up_from " +
                      "the warm-up steps are not compressed");
  }
  const auto first = value_of(run.codec(Hop::kFirst).info(), parameter);
  const auto second = value_of(run.codec(Hop::kSecond).info(), parameter);
  if (!first && !second) {
    return plan_error("warm_up_from: neither codec `" + decision.codec.name + "` nor `" + decision.second_hop.name +
                      "` on the second hop has a parameter `" + parameter + "`");
  }
  if (from > 0 && first.value_or(1) > 0 && second.value_or(1) > 0) return Status::ok();
  return plan_error(fmt::format("warm_up_from: `{}` goes from {} to {}, expected both above 0", parameter, from,
                                first ? *first : *second));
}

/// The parameter goes to its own value by the same factor from stage to stage, and what codecs keep goes along.
Status add_stages(const Declared& declared, const Topology& topology, std::size_t first_owner, GradientRun& run) {
  const Decision& decision = declared.decision;
  CASYNC_RETURN_IF_ERROR(check_warm_up_from(decision, run));
  const auto& [parameter, from] = *decision.warm_up_from;
  for (std::uint32_t stage = 0; stage < kStages; ++stage) {
    Declared instead{declared.spec, decision, key_of(declared.spec.name, kFirstStagePart + stage)};
    for (const auto& [hop, codec] :
         {std::pair(Hop::kFirst, &instead.decision.codec), std::pair(Hop::kSecond, &instead.decision.second_hop)}) {
      const std::optional<double> own = value_of(run.codec(hop).info(), parameter);
      if (own) set(parameter, from * std::pow(*own / from, static_cast<double>(stage) / kStages), *codec);
    }
    const auto until = static_cast<std::uint32_t>(std::uint64_t{decision.warm_up_steps} * (stage + 1) / kStages);
    CASYNC_RETURN_IF_ERROR(add_stage(std::move(instead), until, topology, first_owner, run));
    GradientRun& made = run.related.last_warm_up();
    if (!made.kept.is_like(run.kept)) {
      return plan_error("warm_up_from: what codec `" + decision.codec.name + "` keeps depends on `" + parameter + "`");
    }
    made.kept.share(run.kept);
  }
  return Status::ok();
}

Result<std::unique_ptr<GradientRun>> make_gossip(const Declared& declared, std::span<const Rank> neighbours,
                                                 std::uint64_t number, const Topology& topology, GradientRun& outer) {
  Result<HopCodecs> codecs = make_codecs(declared.decision, declared.spec.dtype);
  if (!codecs) return codecs.status();
  TaskGraph graph = gossip_graph({.elements = declared.spec.elements(),
                                  .partitions = static_cast<std::size_t>(declared.decision.partitions),
                                  .ranks = topology.ranks,
                                  .self = outer.self},
                                 neighbours);
  auto run = std::make_unique<GradientRun>(declared.spec, declared.decision, std::move(graph), std::move(*codecs),
                                           RunName{key_of(declared.spec.name, kFirstGossipPart + number), outer.self});
  run->related.belong_to(outer);
  run->scale.average(static_cast<int>(neighbours.size()) + 1);
  return run;
}

/// Lets one of several runs that never go on together reserve the slots of all: the one with the most buffers.
void share_slots(const RelatedRuns& runs) {
  std::size_t largest = 0;
  for (std::size_t i = 1; i < runs.neighbourhoods(); ++i) {
    if (runs.gossip(i).buffers.count() > runs.gossip(largest).buffers.count()) largest = i;
  }
  for (std::size_t i = 0; i < runs.neighbourhoods(); ++i) {
    if (i != largest) runs.gossip(i).buffers.borrow_slots();
  }
}

}  // namespace

Status check_gossip(const SyncMode& mode, int ranks) {
  if (mode.neighbours != Neighbours::kPairs || ranks <= kMostPairedRanks) return Status::ok();
  return invalid_argument(fmt::format(
      "gossip with neighbours pairs is for up to {} ranks, and this job has {}: use ring", kMostPairedRanks, ranks));
}

Status check_gossip(const Declared& declared) {
  if (declared.decision.servers.dedicated) {
    return plan_error(
        "gossip averages the parameters of all ranks, and dedicated servers have none: leave `dedicated` "
        "out of the plan");
  }
  return is_exact(declared) ? Status::ok() : check_difference_gossip(declared);
}

bool is_exact(const Declared& declared) {
  const CodecChoice exact = for_dtype({}, declared.spec.dtype);
  return declared.decision.codec == exact && declared.decision.second_hop == exact;
}

Status add_gossip(const Declared& declared, Neighbours neighbours, const Topology& topology, GradientRun& run) {
  const auto add = [&](std::span<const Rank> ranks) {
    Result<std::unique_ptr<GradientRun>> made =
        make_gossip(declared, ranks, run.related.neighbourhoods(), topology, run);
    if (!made) return made.status();
    run.related.add_gossip(std::move(*made));
    return Status::ok();
  };
  if (neighbours == Neighbours::kRing) return add(ring_neighbours(run.self, topology.ranks));
  for (int round = 0; round < pairs::rounds(topology.ranks); ++round) {
    const Rank partner = pairs::partner(run.self, round, topology.ranks);
    const std::size_t count = partner == run.self ? 0 : 1;
    CASYNC_RETURN_IF_ERROR(add({&partner, count}));
  }
  share_slots(run.related);
  return Status::ok();
}

Result<Decision> with_rounds_where_they_pay(Decision decision, const GradientSpec& gradient) {
  for (const CodecChoice* choice : {&decision.codec, &decision.second_hop}) {
    CASYNC_RETURN_IF_ERROR(compll::check_no_exchange(choice->name));
  }
  const bool first = compll::has_rounds(decision.codec.name), second = compll::has_rounds(decision.second_hop.name);
  if (!first && !second) return decision;
  if (!(decision.codec == decision.second_hop)) {
    return plan_error("codec `" + (first ? decision.codec : decision.second_hop).name +
                      "` has exchanges of its own, which are not compressed: it stands for both hops, and `" +
                      text_of(first ? decision.second_hop : decision.codec) + "` cannot be one of them");
  }
  const auto codec = compll::make_rounds_codec(decision.codec.name, decision.codec.parameters);
  if (!codec) return codec.status();
  const auto [rows, columns] = matrix_of(gradient, (*codec)->info());
  if (rows == 0 || !pays(**codec, rows, columns)) {
    decision.codec = decision.second_hop = CodecChoice{};
    return decision;
  }
  if (!decision.servers.dedicated) return decision;
  return plan_error("codec `" + decision.codec.name +
                    "` has exchanges of its own, between which every rank computes: it has no dedicated servers; leave "
                    "`dedicated` out for this gradient, or give it another codec");
}

Result<std::unique_ptr<GradientRun>> make_rounds_run(const Declared& declared, const Topology& topology, Rank self,
                                                     std::size_t first_owner) {
  Declared none = declared;
  none.decision.codec = none.decision.second_hop = CodecChoice{};
  Result<HopCodecs> codecs = make_codecs(none.decision, declared.spec.dtype);
  if (!codecs) return codecs.status();
  Result<std::unique_ptr<RoundsRun>> rounds = make_rounds_of(declared);
  if (!rounds) return rounds.status();
  RunExtras extras;
  extras.rounds = std::move(*rounds);
  auto run = std::make_unique<GradientRun>(declared.spec, declared.decision, TaskGraph(), std::move(*codecs),
                                           RunName{declared.key, self}, std::move(extras));
  CASYNC_RETURN_IF_ERROR(add_exchanges(declared, topology, first_owner, *run));
  CASYNC_RETURN_IF_ERROR(add_warm_up(declared, topology, first_owner, *run));
  return run;
}

Status add_warm_up(const Declared& declared, const Topology& topology, std::size_t first_owner, GradientRun& run) {
  const Decision& decision = declared.decision;
  if (decision.warm_up_from) return add_stages(declared, topology, first_owner, run);
  if (decision.warm_up_steps == 0) return Status::ok();
  Declared plain{declared.spec, decision, key_of(declared.spec.name, kWarmUpPart)};
  plain.decision.codec = plain.decision.second_hop = for_dtype({}, declared.spec.dtype);
  if (plain.decision.codec == decision.codec && plain.decision.second_hop == decision.second_hop) return Status::ok();
  return add_stage(std::move(plain), decision.warm_up_steps, topology, first_owner, run);
}

}  // namespace casync::runtime
