// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/round_parts.h"

namespace casync::runtime {
namespace {

using Kind = RoundPart::Kind;

/// The parts of a gradient that is all-reduced, or whose codec exchanges what it makes in its turns.
void add_all_reduced(const GradientRun& run, std::uint32_t gradient, std::vector<RoundPart>& parts) {
  const RoundTask task{gradient, {}};
  if (!run.rounds) {
    parts.push_back({Kind::kAllReduce, 0, task});
    parts.push_back({Kind::kScale, 0, task});
    return;
  }
  const auto last = static_cast<std::uint32_t>(run.rounds->exchanges().size());
  for (std::uint32_t number = 0; number < last; ++number) {
    for (const Kind kind : {Kind::kTurn, Kind::kAllReduce, Kind::kScale}) parts.push_back({kind, number, task});
  }
  parts.push_back({Kind::kTurn, last, task});
}

}  // namespace

std::vector<RoundPart> parts_of(const Bucket& bucket, std::span<GradientRun* const> runs) {
  std::vector<RoundPart> parts{{Kind::kBegin, 0, {}}};
  for (std::uint32_t r = 0; r < bucket.rounds.size(); ++r) {
    const Round& round = bucket.rounds[r];
    for (const RoundTask& task : round.tasks) {
      parts.push_back({Kind::kTask, r, {task.gradient - bucket.first_gradient, task.task}});
    }
    if (!round.sends.empty() || !round.recvs.empty()) parts.push_back({Kind::kExchange, r, {}});
    for (const std::uint32_t g : round.all_reduced) {
      const std::uint32_t gradient = g - bucket.first_gradient;
      add_all_reduced(*runs[gradient], gradient, parts);
    }
  }
  parts.push_back({Kind::kAgree, 0, {}});
  parts.push_back({Kind::kEnd, 0, {}});
  return parts;
}

std::vector<bool> all_reduced_of(const Bucket& bucket) {
  std::vector<bool> all_reduced(bucket.gradients);
  for (const Round& round : bucket.rounds) {
    for (const std::uint32_t g : round.all_reduced) all_reduced[g - bucket.first_gradient] = true;
  }
  return all_reduced;
}

}  // namespace casync::runtime
