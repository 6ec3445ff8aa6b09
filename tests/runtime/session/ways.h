// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "casync/strategies/strategy.h"
#include "compll/codec/codec.h"
#include "tests/runtime/session/codec_choices.h"
#include "tests/runtime/session/gradients.h"
#include "tests/support/ranks.h"

namespace casync::test {

/// A strategy as plans name it, perhaps with its servers ("ps servers: 2"), and the node of each rank: "a", "b", ...;
/// "": the machine.
struct Way {
  std::string strategy;
  std::string nodes;
};

/// Every strategy of the table, on several layouts of nodes where it follows them, and 1, 2 and all ranks as servers.
inline std::vector<Way> ways_of(int ranks) {
  std::vector<Way> ways;
  for (const Strategy& strategy : strategies()) {
    ways.push_back({std::string(strategy.name), ""});
    if (!strategy.levels) continue;
    for (const char* nodes : {"abcdefgh", "aabbccdd", "aaaabbcc", "abbabaca"}) {
      ways.push_back({ways.back().strategy, std::string(nodes).substr(0, static_cast<std::size_t>(ranks))});
    }
  }
  ways.push_back({"ps servers: 1", ""});
  if (ranks > 1) ways.push_back({"ps servers: " + std::to_string(ranks), ""});
  if (ranks > 2) ways.push_back({"ps servers: 2", std::string("aabbccdd").substr(0, static_cast<std::size_t>(ranks))});
  return ways;
}

/// Servers that contribute nothing, as many as leave a rank that does, up to 2.
inline std::vector<Way> dedicated_ways(int ranks) {
  std::vector<Way> ways;
  for (int servers = 1; servers < std::min(ranks, 3); ++servers) {
    ways.push_back({"ps servers: " + std::to_string(servers) + " dedicated: true", ""});
  }
  return ways;
}

/// Sessions that carry every gradient in this way. `codec` is as in a plan: name: "int4".
inline std::string with_way(int ranks, const Way& way, const std::string& codec, const std::string& more, ReduceOp op,
                            const std::function<std::string(Session&, RankContext&)>& body,
                            const std::string& transport = "loopback") {
  const TemporaryDirectory directory = TemporaryDirectory::in_memory();
  const std::string path = directory.path() + "/plan.txtpb";
  std::ofstream(path) << "version: 1 seed: 5 default { codec { " << codec << " } strategy: " << way.strategy << " "
                      << more << " }\n";
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

}  // namespace casync::test
