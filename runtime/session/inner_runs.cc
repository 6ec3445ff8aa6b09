// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/inner_runs.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "casync/planner/decide.h"
#include "compll/codec/rounds_codec.h"
#include "runtime/session/hop_codecs.h"

namespace casync::runtime {
namespace {

// Names of what belongs to a gradient in messages: itself is 0, then its warm-up, then each of its rounds.
constexpr std::uint64_t kWarmUpPart = 1;

std::uint64_t key_of(const std::string& name, std::uint64_t part) {
  return XXH3_64bits_withSeed(name.data(), name.size(), part);
}

/// A tensor as a matrix: its first extent, by all the others. Empty: it is none, or too small.
std::pair<Elements, Elements> matrix_of(const GradientSpec& gradient) {
  if (gradient.shape.size() < 2 || gradient.elements() == 0) return {};
  const auto rows = static_cast<Elements>(gradient.shape[0]);
  return {rows, gradient.elements() / rows};
}

/// Whether exchanging `shape` is worth its turns: it has less than half of the elements.
bool pays(const compll::RoundsShape& shape, Elements elements) {
  Elements sum = 0;
  for (const Elements count : shape.exchanged) sum += count;
  return 2 * sum < elements;
}

/// An exchange as a gradient of float32 by itself. Its partitions are as large as those of `declared` would be.
Result<std::unique_ptr<GradientRun>> make_exchange(const Declared& declared, std::size_t round, Elements elements,
                                                   const Topology& topology, Rank self, std::size_t first_owner) {
  const std::string& name = declared.spec.name;
  Declared exchange{{name + " (round " + std::to_string(round + 1) + ")",
                     DType::kFloat32,
                     {static_cast<std::int64_t>(elements)},
                     declared.spec.priority},
                    declared.decision,
                    key_of(name, kWarmUpPart + 1 + round)};
  Decision& decision = exchange.decision;
  decision.codec = decision.second_hop = CodecChoice{};
  decision.warm_up_steps = 0;
  const Bytes partition = declared.spec.bytes() / static_cast<Bytes>(decision.partitions);
  decision.partitions = choose_partitions(exchange.spec.bytes(), topology.ranks, partition);
  return make_run(exchange, topology, self, first_owner + round);
}

Status add_rounds(const Declared& declared, const Topology& topology, std::size_t first_owner, GradientRun& run) {
  const CodecChoice& choice = declared.decision.codec;
  Result<std::unique_ptr<compll::RoundsCodec>> codec = compll::make_rounds_codec(choice.name, choice.parameters);
  if (!codec) return codec.status();
  const auto [rows, columns] = matrix_of(declared.spec);
  run.rounds = std::make_unique<RoundsRun>(std::move(*codec), rows, columns);
  for (const Elements elements : run.rounds->shape.exchanged) {
    std::vector<std::unique_ptr<GradientRun>>& exchanges = run.rounds->exchanges;
    auto exchange = make_exchange(declared, exchanges.size(), elements, topology, run.self, first_owner);
    if (!exchange) return exchange.status();
    (*exchange)->outer = &run;
    exchanges.push_back(std::move(*exchange));
  }
  return Status::ok();
}

}  // namespace

Result<Decision> with_rounds_where_they_pay(Decision decision, const GradientSpec& gradient) {
  const bool first = compll::has_rounds(decision.codec.name), second = compll::has_rounds(decision.second_hop.name);
  if (!first && !second) return decision;
  if (!(decision.codec == decision.second_hop)) {
    return plan_error("codec `" + (first ? decision.codec : decision.second_hop).name +
                      "` has exchanges of its own, which are not compressed: it stands for both hops, and `" +
                      text_of(first ? decision.second_hop : decision.codec) + "` cannot be one of them");
  }
  const auto codec = compll::make_rounds_codec(decision.codec.name, decision.codec.parameters);
  if (!codec) return codec.status();
  const auto [rows, columns] = matrix_of(gradient);
  if (rows == 0 || !pays((*codec)->shape(rows, columns), gradient.elements())) {
    decision.codec = decision.second_hop = CodecChoice{};
  }
  return decision;
}

Result<std::unique_ptr<GradientRun>> make_rounds_run(const Declared& declared, const Topology& topology, Rank self,
                                                     std::size_t first_owner) {
  Declared none = declared;
  none.decision.codec = none.decision.second_hop = CodecChoice{};
  Result<HopCodecs> codecs = make_codecs(none.decision, declared.spec.dtype);
  if (!codecs) return codecs.status();
  auto run = std::make_unique<GradientRun>(declared.spec, declared.decision, TaskGraph(), std::move(*codecs));
  run->self = self;
  run->key = declared.key;
  CASYNC_RETURN_IF_ERROR(add_rounds(declared, topology, first_owner, *run));
  CASYNC_RETURN_IF_ERROR(add_warm_up(declared, topology, first_owner, *run));
  return run;
}

Status add_warm_up(const Declared& declared, const Topology& topology, std::size_t first_owner, GradientRun& run) {
  const Decision& decision = declared.decision;
  if (decision.warm_up_steps == 0) return Status::ok();
  Declared plain{declared.spec, decision, key_of(declared.spec.name, kWarmUpPart)};
  plain.decision.codec = plain.decision.second_hop = for_dtype({}, declared.spec.dtype);
  plain.decision.warm_up_steps = 0;
  if (plain.decision.codec == decision.codec && plain.decision.second_hop == decision.second_hop) return Status::ok();
  Result<std::unique_ptr<GradientRun>> warm_up = make_run(plain, topology, run.self, first_owner);
  if (!warm_up) return Status(warm_up.status().code(), "its warm-up steps: " + warm_up.status().message());
  run.warm_up = std::move(*warm_up);
  run.warm_up->outer = &run;
  return Status::ok();
}

}  // namespace casync::runtime
