// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/difference_gossip.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "casync/strategies/gossip.h"
#include "compll/codec/element_limit.h"
#include "compll/codec/rounds_codec.h"
#include "runtime/session/gossip_kernels.h"
#include "runtime/session/hop_codecs.h"
#include "runtime/session/inner_runs.h"

namespace casync::runtime {
namespace {

bool all_finite(const float* values, Elements count) {
  return std::all_of(values, values + count, [](float x) { return std::isfinite(x); });
}

/// Turns that are no program's, on the host and on a device.
class GossipTurns : public compll::RoundsCodec {
 public:
  virtual Result<std::unique_ptr<TurnKernels>> kernels(Device& device) const = 0;
};

/// The turns around an exchange of differences. What is exchanged has a place for this rank and each neighbour, in rank
/// order, and one more float that no task touches: NaN where this rank's parameters are not finite. The copies, in the
/// same order, change in place: states_in may be states_out.
class DifferenceTurns final : public GossipTurns {
 public:
  DifferenceTurns(std::size_t members, std::size_t own, float gamma)
      : members_(members), own_(own), part_(gamma / static_cast<float>(members)) {
    info_.name = "differences";
    info_.values = {static_cast<double>(members), static_cast<double>(own), part_};
    info_.rounds = 1;
    info_.exchanges = {compll::ExchangeKind::kSum};
  }
  const compll::CodecInfo& info() const override { return info_; }
  compll::RoundsShape shape(Elements rows, Elements columns) const override {
    return {{members_ * rows * columns + 1}, members_ * rows * columns, 0};
  }
  void prepare_thread() const override {}
  Result<std::unique_ptr<TurnKernels>> kernels(Device& device) const override {
    return make_difference_kernels(device, members_, own_, part_);
  }

  void turn(const compll::Turn& turn, const compll::EncodeContext&) const override {
    turn.number == 0 ? hand_out(turn) : move(turn);
  }

 private:
  /// A rank whose parameters are not finite says that nothing has changed, so that no copy is lost.
  void hand_out(const compll::Turn& turn) const {
    const Elements n = turn.rows * turn.columns;
    float* const difference = turn.exchanged[0] + own_ * n;
    const float* const copy = turn.states_in + own_ * n;
    const bool finite = all_finite(turn.gradient, n);
    for (Elements i = 0; i < n; ++i) difference[i] = finite ? turn.gradient[i] - copy[i] : 0.0f;
    turn.exchanged[0][members_ * n] = finite ? 0.0f : std::numeric_limits<float>::quiet_NaN();
  }

  void move(const compll::Turn& turn) const {
    const Elements n = turn.rows * turn.columns;
    for (std::size_t member = 0; member < members_; ++member) {
      const float* const difference = turn.exchanged[0] + member * n;
      const float* const before = turn.states_in + member * n;
      float* const copy = turn.states_out + member * n;
      // All ranks that have this copy got the same code, so they leave out the same ones.
      const bool finite = all_finite(difference, n);
      for (Elements i = 0; i < n; ++i) copy[i] = finite ? before[i] + difference[i] : before[i];
    }
    const float* const own = turn.states_out + own_ * n;
    for (Elements i = 0; i < n; ++i) {
      float way = 0;  // exactly zero where copies are equal, so that rounding does not carry all ranks away together
      for (std::size_t member = 0; member < members_; ++member) way += turn.states_out[member * n + i] - own[i];
      turn.out[i] = turn.gradient[i] + part_ * way;
    }
  }

  const std::size_t members_, own_;
  const float part_;
  compll::CodecInfo info_;
};

/// The turns around a consensus: what all ranks have in the end is what every copy is set to.
class ConsensusTurns final : public GossipTurns {
 public:
  explicit ConsensusTurns(std::size_t members) : members_(members) {
    info_.name = "consensus";
    info_.values = {static_cast<double>(members)};
    info_.rounds = 1;
    info_.exchanges = {compll::ExchangeKind::kSum};
  }
  const compll::CodecInfo& info() const override { return info_; }
  compll::RoundsShape shape(Elements rows, Elements columns) const override {
    return {{rows * columns}, members_ * rows * columns, 0};
  }
  void prepare_thread() const override {}
  Result<std::unique_ptr<TurnKernels>> kernels(Device& device) const override {
    return make_consensus_kernels(device, members_);
  }

  void turn(const compll::Turn& turn, const compll::EncodeContext&) const override {
    const Elements n = turn.rows * turn.columns;
    float* const mean = turn.exchanged[0];
    if (turn.number == 0) {
      std::copy_n(turn.gradient, n, mean);
      return;
    }
    const bool finite = all_finite(mean, n);
    for (std::size_t member = 0; member < members_; ++member) {
      for (Elements i = 0; i < n; ++i) {
        turn.states_out[member * n + i] = finite ? mean[i] : turn.states_in[member * n + i];
      }
    }
    std::copy_n(mean, n, turn.out);
  }

 private:
  const std::size_t members_;
  compll::CodecInfo info_;
};

bool has_feedback_parameter(const compll::CodecInfo& info) {
  return std::any_of(info.parameters.begin(), info.parameters.end(),
                     [](const auto& p) { return p.name == "feedback"; });
}

/// The codec without a residual of its own: what a code loses stays in the difference to the copy, and is sent later.
Result<CodecChoice> without_feedback(CodecChoice choice) {
  Result<std::unique_ptr<compll::Codec>> codec = compll::make_codec(choice.name, choice.parameters);
  if (!codec) return codec.status();
  if (!has_feedback_parameter((*codec)->info())) return choice;
  std::erase_if(choice.parameters, [](const auto& one) { return one.first == "feedback"; });
  choice.parameters.emplace_back("feedback", 0);
  return choice;
}

Result<std::unique_ptr<compll::Codec>> codec_of_differences(const CodecChoice& choice) {
  const Result<CodecChoice> used = without_feedback(choice);
  if (!used) return used.status();
  return compll::make_codec(used->name, used->parameters);
}

/// The turns of a gradient, as a run that stands for `outer` in a step and keeps its copies there.
Result<std::unique_ptr<GradientRun>> make_turns(std::unique_ptr<GossipTurns> turns, GradientRun& outer) {
  Decision plain = outer.decision;
  plain.codec = plain.second_hop = CodecChoice{};
  Result<HopCodecs> codecs = make_codecs(plain, outer.spec.dtype);
  if (!codecs) return codecs.status();
  const std::uint64_t key = key_of(outer.spec.name, kFirstGossipPart + 2 * outer.related.neighbourhoods());
  const GossipTurns* const own = turns.get();
  RunExtras extras;
  extras.rounds = std::make_unique<RoundsRun>(std::move(turns), outer.elements, 1,
                                              [own](Device& device) { return own->kernels(device); });
  auto run = std::make_unique<GradientRun>(outer.spec, outer.decision, TaskGraph(), std::move(*codecs),
                                           RunName{key, outer.self}, std::move(extras));
  run->related.belong_to(outer);
  run->kept.share(outer.kept);
  return run;
}

Result<std::unique_ptr<GradientRun>> make_exchange_of_differences(std::span<const Rank> neighbours,
                                                                  const Topology& topology, GradientRun& turns) {
  Decision decision = turns.decision;
  Result<CodecChoice> codec = without_feedback(decision.codec);
  if (!codec) return codec.status();
  decision.codec = decision.second_hop = std::move(*codec);
  Result<HopCodecs> codecs = make_codecs(decision, DType::kFloat32);
  if (!codecs) return codecs.status();
  const auto partitions = static_cast<std::size_t>(decision.partitions);
  CASYNC_RETURN_IF_ERROR(
      compll::check_elements(codecs->first->info(), partition_slice(turns.elements, partitions, 0).count));
  TaskGraph graph = difference_gossip_graph(
      {.elements = turns.elements, .partitions = partitions, .ranks = topology.ranks, .self = turns.self}, neighbours);
  const GradientSpec spec{turns.spec.name + " (differences)",
                          DType::kFloat32,
                          {static_cast<std::int64_t>(turns.rounds->shape.exchanged.front())},
                          turns.spec.priority};
  auto run = std::make_unique<GradientRun>(spec, decision, std::move(graph), std::move(*codecs),
                                           RunName{turns.key + 1, turns.self});
  run->related.belong_to(turns);
  return run;
}

}  // namespace

double suitable_gamma(const compll::Codec& codec) {
  constexpr Elements kCount = 4096;
  std::vector<float> values(kCount), decoded(kCount);
  std::uint64_t state = 1;
  for (float& value : values) {
    // Nearly a normal deviate, and the same one on every machine.
    for (int i = 0; i < 12; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;  // Knuth's MMIX
      value += static_cast<float>(state >> 40) * 0x1p-24f;
    }
    value -= 6;
  }
  std::vector<std::byte> payload(codec.encoded_bound(kCount));
  const compll::Encoded encoded = codec.encode(values.data(), kCount, {}, {}, payload.data());
  codec.decode({payload.data(), encoded.size}, kCount, decoded.data());
  double norm = 0, lost = 0;
  for (Elements i = 0; i < kCount; ++i) {
    norm += static_cast<double>(values[i]) * values[i];
    lost += std::pow(static_cast<double>(values[i]) - decoded[i], 2);
  }
  return (1 - lost / norm) / 2;
}

Status check_difference_gossip(const Declared& declared) {
  const CodecChoice& choice = declared.decision.codec;
  const std::string name = "codec `" + text_of(choice) + "`";
  const std::string use = ": use codec `none`, or local_sgd, whose differences any codec carries";
  if (!(declared.decision.second_hop == choice)) {
    return plan_error("gossip has one hop, and second_hop `" + text_of(declared.decision.second_hop) + "` is not `" +
                      text_of(choice) + "`: leave second_hop out");
  }
  if (declared.neighbours == Neighbours::kPairs) {
    return plan_error("gossip in pairs averages parameters as they are, and " + name +
                      " loses a part of each: it would take a copy of every other rank's parameters on each rank" +
                      use + ", or neighbours: ring");
  }
  if (compll::has_rounds(choice.name)) {
    return plan_error(name + " adds up over all ranks within a step, and gossip has no sum of all ranks" + use);
  }
  const Result<std::unique_ptr<compll::Codec>> codec = codec_of_differences(choice);
  if (!codec) return codec.status();
  const compll::CodecInfo& info = (*codec)->info();
  if (info.states != 0 || info.coded_terms || info.has_result) {
    const char* const what = info.votes         ? " counts votes"
                             : info.states != 0 ? " keeps a state of its own beside a residual"
                                                : " makes its result of what all ranks have sent";
    return plan_error(name + what + ", and gossip sends differences to copies, which decode them by themselves" + use);
  }
  if (suitable_gamma(**codec) > 0) return Status::ok();
  return plan_error(name + " changes a Gaussian vector by more than the vector is long, so that no copy would come " +
                    "nearer to the parameters" + use);
}

Result<std::unique_ptr<GradientRun>> make_difference_gossip(const Declared& declared, const Topology& topology,
                                                            Rank self, std::size_t first_owner) {
  Declared plain = declared;
  plain.neighbours = Neighbours::kAll;
  plain.decision.codec = plain.decision.second_hop = for_dtype({}, declared.spec.dtype);
  Result<HopCodecs> codecs = make_codecs(plain.decision, declared.spec.dtype);
  if (!codecs) return codecs.status();
  // Named by its own decision, so that states of other codecs are refused.
  Result<std::unique_ptr<GradientRun>> made =
      make_graph_run(plain, std::move(*codecs), declared.decision, topology, self, first_owner);
  if (!made) return made.status();
  GradientRun& run = **made;

  const std::vector<Rank> neighbours = ring_neighbours(self, topology.ranks);
  const std::size_t members = neighbours.size() + 1;
  run.kept.keep_copies(members);
  const Result<std::unique_ptr<compll::Codec>> codec = codec_of_differences(declared.decision.codec);
  if (!codec) return codec.status();
  const double gamma = declared.gamma > 0 ? declared.gamma : suitable_gamma(**codec);
  const std::size_t own = place_among(self, neighbours);
  auto turns = make_turns(std::make_unique<DifferenceTurns>(members, own, static_cast<float>(gamma)), run);
  if (!turns) return turns.status();
  auto exchange = make_exchange_of_differences(neighbours, topology, **turns);
  if (!exchange) return exchange.status();
  (*turns)->rounds->add(std::move(*exchange));
  run.related.add_gossip(std::move(*turns));

  auto consensus = make_turns(std::make_unique<ConsensusTurns>(members), run);
  if (!consensus) return consensus.status();
  auto sum = make_exchange(plain, 0, compll::ExchangeKind::kSum, run.elements, topology, self, first_owner);
  if (!sum) return sum.status();
  (*sum)->related.belong_to(**consensus);
  (*consensus)->rounds->add(std::move(*sum));
  run.related.add_consensus(std::move(*consensus));
  return made;
}

}  // namespace casync::runtime
