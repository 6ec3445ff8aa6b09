// SPDX-License-Identifier: Apache-2.0
//
// Jobs that reduce and scatter one gradient.
#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/session/codec_choices.h"
#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/plan_file.h"

namespace casync::test {

inline constexpr std::size_t kParts = 2;              // of each shard
inline constexpr std::size_t kShard = kParts * 4160;  // equal partitions whose last blocks are short

/// [rank][step]: a rank's whole memory.
using Memories = std::vector<std::vector<std::vector<float>>>;

inline std::size_t elements_of(int ranks) { return static_cast<std::size_t>(ranks) * kShard; }

inline Result<GradientId> declare_scattered(Session& session, const std::string& name, std::size_t elements,
                                            DType dtype = DType::kFloat32) {
  GradientSpec spec{name, dtype, {static_cast<std::int64_t>(elements)}, 0};
  spec.scattered = true;
  return session.declare(spec);
}

inline std::string plan_of(int ranks, const std::string& codec, const std::string& more = "") {
  return "seed: 5 default { codec { " + codec + " } partitions: " + std::to_string(kParts * ranks) + " " + more + " }";
}

template <class Salt>
std::string train(int ranks, const std::string& plan, std::uint32_t steps, Salt salt, Memories& memories,
                  const std::string& transport = "loopback", ReduceOp op = ReduceOp::kAverage) {
  memories.assign(static_cast<std::size_t>(ranks), {});
  return with_plan(
      ranks, plan,
      [&](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare_scattered(session, "weight", elements_of(ranks));
        if (!id) return id.status().text();
        for (std::uint32_t number = 0; number < steps; ++number) {
          std::vector<float> values = contribution(context.rank, elements_of(ranks), salt(number));
          if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
          memories[static_cast<std::size_t>(context.rank)].push_back(std::move(values));
        }
        return "";
      },
      transport, op);
}

inline std::uint32_t another(std::uint32_t step) { return 40 + step; }

/// "" where each rank's memory outside of its own shard is what it submitted. Puts the shards together.
inline std::string gathered(const Memories& memories, std::uint32_t step, std::uint32_t salt,
                            std::vector<float>& result) {
  const int ranks = static_cast<int>(memories.size());
  result.assign(elements_of(ranks), 0);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<float>& values = memories[static_cast<std::size_t>(rank)][step];
    const std::vector<float> given = contribution(rank, elements_of(ranks), salt);
    const std::size_t begin = static_cast<std::size_t>(rank) * kShard;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i >= begin && i < begin + kShard) {
        result[i] = values[i];
      } else if (std::memcmp(&values[i], &given[i], sizeof(float)) != 0) {
        return "rank " + std::to_string(rank) + ", element " + std::to_string(i) + " of another shard has changed";
      }
    }
  }
  return "";
}

}  // namespace casync::test
