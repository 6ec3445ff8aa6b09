// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "compll/codec/codec.h"
#include "tests/runtime/session/gradients.h"
#include "tests/support/ranks.h"

namespace casync::test {

/// A strategy as plans name it, and the node of each rank: "a", "b", ...; "": the machine.
struct Way {
  std::string strategy;
  std::string nodes;
};

inline std::vector<Way> ways_of(int ranks) {
  std::vector<Way> ways = {{"PS", ""}, {"RING", ""}, {"ALL_GATHER", ""}, {"TREE", ""}, {"HIERARCHICAL", ""}};
  for (const char* nodes : {"abcdefgh", "aabbccdd", "aaaabbcc", "abbabaca"}) {
    ways.push_back({"HIERARCHICAL", std::string(nodes).substr(0, static_cast<std::size_t>(ranks))});
  }
  return ways;
}

inline bool needs_exact_merge(const Way& way) { return way.strategy == "RING" || way.strategy == "TREE"; }

/// Whether a plan of this way with this codec is not refused: a node's sum is of elements that no rank has encoded.
inline bool can_carry(const Way& way, const compll::CodecInfo& codec) {
  return way.strategy != "HIERARCHICAL" || !codec.coded_terms;
}

/// Sessions that carry every gradient in this way. `codec` is as in a plan: name: "int4".
inline std::string with_way(int ranks, const Way& way, const std::string& codec, const std::string& more, ReduceOp op,
                            const std::function<std::string(Session&, RankContext&)>& body,
                            const std::string& transport = "loopback") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/plan.txtpb";
  // A ring's first hop and a tree's merge again at each hop; what they send back may be any codec.
  const std::string hops =
      needs_exact_merge(way) ? "codec { name: \"none\" } second_hop { " + codec + " }" : "codec { " + codec + " }";
  std::ofstream(path) << "version: 1 seed: 5 default { " << hops << " strategy: " << way.strategy << " " << more
                      << " }\n";
  return run_ranks(
      ranks,
      [&](RankContext& context) -> std::string {
        context.options.plan_file = path;
        context.options.op = op;
        if (!way.nodes.empty()) {
          context.options.launch.node = way.nodes.substr(static_cast<std::size_t>(context.rank), 1);
        }
        Result<std::unique_ptr<Session>> session = Session::open(context.options);
        if (!session) return "open: " + session.status().text();
        std::string complaint = body(**session, context);
        const Status closed = (*session)->close();
        return complaint.empty() && !closed.is_ok() ? "close: " + closed.text() : complaint;
      },
      transport);
}

inline std::string named(const std::string& codec) { return "name: \"" + codec + "\""; }

}  // namespace casync::test
