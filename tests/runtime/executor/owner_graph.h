// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "casync/graph/task_graph.h"
#include "runtime/session/hop_codecs.h"

namespace casync::test {

// The buffers and tasks of owner_graph().
inline constexpr BufferId kContribution{0}, kResult{1};
inline constexpr TaskId kReceives{0}, kMerges{1}, kSends{2}, kDecodes{3};

/// The owner of the only partition, of two ranks: it merges a contribution with its own elements, and sends the result.
inline TaskGraph owner_graph(Elements elements = 100) {
  const Slice all{0, elements};
  TaskGraph::Builder builder;
  static_cast<void>(builder.buffer({all, Hop::kFirst, 0}));
  static_cast<void>(builder.buffer({all, Hop::kSecond, 0}));
  static_cast<void>(builder.add(Recv{1, kContribution, {0, 0}}));
  static_cast<void>(builder.add(Merge{{std::nullopt, kContribution}, all, kResult, true}));
  static_cast<void>(builder.add(Send{1, kResult, {0, 1}}));
  static_cast<void>(builder.add(Decode{kResult, all}));
  return std::move(builder).build();
}

/// One codec for both hops.
inline runtime::HopCodecs codecs_of(const std::string& name) {
  Decision decision;
  decision.codec = decision.second_hop = CodecChoice{name, {}};
  return std::move(runtime::make_codecs(decision, DType::kFloat32)).value();
}

}  // namespace casync::test
