// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/rounds.h"

#include <algorithm>
#include <utility>

#include "casync/patterns/partition_count.h"
#include "casync/strategies/reduce_scatter.h"

namespace casync {
namespace {

constexpr double kFloatBytes = 4;

/// A tensor as a matrix: its first extent, by all the others; or as one column. Empty: the codec needs a matrix and it
/// is none, or it is too small.
std::pair<Elements, Elements> matrix_of(const GradientSpec& spec, const CodecFacts& codec) {
  if (codec.takes_vectors) return {spec.elements(), 1};
  if (spec.shape.size() < 2 || spec.elements() == 0) return {};
  const auto rows = static_cast<Elements>(spec.shape[0]);
  return {rows, spec.elements() / rows};
}

CodecChoice codec_of_exchange(const RoundsFacts& facts, std::size_t exchange) {
  return exchange < facts.codecs.size() ? CodecChoice{facts.codecs[exchange], {}} : CodecChoice{};
}

/// Returns true if the codec exchanges less than half of the bits of so many float32.
Result<bool> pays(const RoundsFacts& facts, Elements elements, const CodecFactsOf& facts_of) {
  double bits = 0;
  for (std::size_t i = 0; i < facts.exchanged.size(); ++i) {
    const Result<CodecFacts> codec = facts_of(codec_of_exchange(facts, i));
    if (!codec) return codec.status();
    bits += codec->traits.bits_per_element * static_cast<double>(facts.exchanged[i]);
  }
  return 2 * bits < 8 * kFloatBytes * static_cast<double>(elements);
}

/// Bytes that each turn reads and writes: the matrix and the exchanges ahead of it and after it; the first
/// turn also the states, the last one states and result.
std::vector<double> turn_bytes(const RoundsFacts& facts, Elements elements) {
  std::vector<double> bytes(facts.exchanged.size() + 1, kFloatBytes * static_cast<double>(elements));
  for (std::size_t i = 0; i < facts.exchanged.size(); ++i) {
    bytes[i] += kFloatBytes * static_cast<double>(facts.exchanged[i]);
    bytes[i + 1] += kFloatBytes * static_cast<double>(facts.exchanged[i]);
  }
  bytes.front() += kFloatBytes * static_cast<double>(facts.states);
  bytes.back() += kFloatBytes * static_cast<double>(facts.states + elements);
  return bytes;
}

/// Seconds of each turn. The curve `encode` of a codec that exchanges is the sum of a step's turns.
std::vector<double> turn_seconds(const CodecFacts& codec, const RoundsFacts& facts, Elements elements,
                                 const Profile& profile) {
  std::vector<double> turns = turn_bytes(facts, elements);
  double all = 0;
  for (const double bytes : turns) all += bytes;
  const Curve measured = curves_of(profile, codec.name).encode;
  const double seconds =
      measured.empty() ? all / profile.memory_bytes_per_second : measured.at(static_cast<double>(elements));
  for (double& turn : turns) turn = profile.launch_s + seconds * turn / all;
  return turns;
}

/// The decision for one exchange. Its partitions are as large as the gradient's would be.
Decision exchange_decision(const Decision& decision, const GradientSpec& spec, const RoundsFacts& facts,
                           std::size_t exchange, int ranks) {
  Decision made = decision;
  made.codec = made.second_hop = codec_of_exchange(facts, exchange);
  made.warm_up_steps = 0;
  made.warm_up_from.reset();
  const Bytes partition = spec.bytes() / static_cast<Bytes>(std::max(decision.partitions, 1));
  made.partitions = choose_partitions(static_cast<Bytes>(kFloatBytes) * facts.exchanged[exchange], ranks,
                                      owner_count(decision.servers, ranks), partition);
  return made;
}

Stage turn_stage(std::size_t turn, std::size_t last, double seconds, double task_s, std::uint32_t hop) {
  Stage stage;
  stage.kind = turn == 0 ? Stage::Kind::kEncode : turn == last ? Stage::Kind::kDecode : Stage::Kind::kMerge;
  stage.gathers = true;
  stage.hop = hop;
  stage.seconds = seconds + task_s;
  stage.tasks_s = task_s;
  return stage;
}

/// The stages of one exchange, dealt out over `lumps` in one round.
void append(const Outline& exchange, int lumps, std::uint32_t first_hop, Outline& made) {
  for (Stage stage : exchange.stages) {
    const double times =
        stage.gathers ? exchange.rounds : static_cast<double>(exchange.rounds) * exchange.lumps / lumps;
    repeat(stage, times);
    stage.hop += first_hop;
    made.stages.push_back(stage);
  }
}

}  // namespace

CodecChoice plain_codec(DType dtype) {
  switch (dtype) {
    case DType::kFloat16: return {"fp16", {}};
    case DType::kBFloat16: return {"bf16", {}};
    default: return {};
  }
}

namespace {

/// rounds_of() of a gradient of which every rank gets all.
Result<std::optional<Rounds>> rounds_of_all(Decision& decision, const GradientSpec& spec, int ranks,
                                            const Profile& profile, const CodecFactsOf& facts_of) {
  const Result<CodecFacts> first = facts_of(decision.codec);
  if (!first) return first.status();
  const Result<CodecFacts> second = facts_of(decision.second_hop);
  if (!second) return second.status();
  if (!first->rounds && !second->rounds) return std::optional<Rounds>();
  if (!(decision.codec == decision.second_hop)) {
    return plan_error("codec `" + (first->rounds ? first : second)->name +
                      "` has exchanges of its own, which are not compressed: it stands for both hops, and `" +
                      (first->rounds ? second : first)->name + "` cannot be one of them");
  }
  const auto [rows, columns] = matrix_of(spec, *first);
  const RoundsFacts facts = rows == 0 ? RoundsFacts{} : first->rounds(rows, columns);
  const Result<bool> wanted = pays(facts, spec.elements(), facts_of);
  if (!wanted) return wanted.status();
  if (rows == 0 || !*wanted) {
    decision.codec = decision.second_hop = plain_codec(spec.dtype);
    return std::optional<Rounds>();
  }
  if (decision.servers.dedicated) {
    return plan_error("codec `" + first->name +
                      "` has exchanges of its own, between which every rank computes: it has " +
                      "no dedicated servers");
  }
  Rounds made;
  for (std::size_t i = 0; i < facts.exchanged.size(); ++i) {
    made.exchanges.push_back({facts.exchanged[i], exchange_decision(decision, spec, facts, i, ranks)});
  }
  made.states = facts.states;
  made.turn_s = turn_seconds(*first, facts, spec.elements(), profile);
  return std::optional<Rounds>(std::move(made));
}

}  // namespace

Result<std::optional<Rounds>> rounds_of(Decision& decision, const GradientSpec& spec, int ranks, const Profile& profile,
                                        const CodecFactsOf& facts_of) {
  Result<std::optional<Rounds>> rounds = rounds_of_all(decision, spec, ranks, profile, facts_of);
  if (!rounds || !spec.scattered) return rounds;
  if (*rounds) {
    return plan_error(
        "codec `" + decision.codec.name +
        "` has exchanges within a step, after which every rank has all of the result, and this gradient is "
        "scattered: give it another codec");
  }
  CASYNC_RETURN_IF_ERROR(check_shards(spec.elements(), ranks));
  scatter(ranks, decision);
  return rounds;
}

Result<Outline> outline_of(Decision decision, const GradientSpec& spec, const AlikeRanks& ranks, const Profile& profile,
                           const CodecFactsOf& facts_of) {
  const Result<std::optional<Rounds>> rounds = rounds_of(decision, spec, ranks.ranks, profile, facts_of);
  if (!rounds) return rounds.status();
  if (!*rounds) {
    const Result<HopCosts> costs = hop_costs(decision, spec.dtype, profile, facts_of);
    if (!costs) return costs.status();
    const double task_s =
        spec.scattered ? profile.task_s : task_seconds(profile, decision, spec.dtype, spec.elements());
    return outline(decision, spec.elements(), ranks, profile, *costs, task_s, spec.scattered);
  }
  std::vector<Outline> exchanges;
  Outline made;
  for (const Rounds::Exchange& exchange : (*rounds)->exchanges) {
    const Result<HopCosts> costs = hop_costs(exchange.decision, DType::kFloat32, profile, facts_of);
    if (!costs) return costs.status();
    exchanges.push_back(outline(exchange.decision, exchange.elements, ranks, profile, *costs, profile.task_s));
    made.lumps = std::max(made.lumps, exchanges.back().lumps);
  }
  std::uint32_t hop = 0;
  for (std::size_t turn = 0; turn <= exchanges.size(); ++turn) {
    made.stages.push_back(turn_stage(turn, exchanges.size(), (*rounds)->turn_s[turn], profile.task_s, hop));
    if (turn == exchanges.size()) break;
    append(exchanges[turn], made.lumps, hop, made);
    for (const Stage& stage : made.stages) hop = std::max(hop, stage.hop + 1);
  }
  return made;
}

}  // namespace casync
