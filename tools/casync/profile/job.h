// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "casync/model/topology.h"
#include "runtime/control/group/group.h"
#include "runtime/control/launch/launch.h"
#include "tools/casync/profile/fans.h"
#include "tools/casync/profile/processors.h"
#include "tools/measure/bench_transport.h"

namespace casync::tools {

/// The ranks that a launcher started to measure the links between them. All calls are collective.
class ProfileJob {
 public:
  /// Joins them: at least two. Errors as read_launch, Group::join.
  static Result<std::unique_ptr<ProfileJob>> join(const runtime::Launch& launch);

  Rank rank() const { return launch_.rank; }
  const Topology& topology() const { return topology_; }
  /// The first two ranks on one node.
  std::optional<std::pair<Rank, Rank>> inside() const;
  /// The first ranks of each two nodes; of more than kMostPaired nodes, of each and the next one.
  std::vector<std::pair<Rank, Rank>> between() const;
  static constexpr std::size_t kMostPaired = 8;

  /// Measures between these two while the others wait. Every rank gets the first one's rows. Errors as bench_transport.
  Result<TransportBench> measure(TransportBenchOptions options, std::pair<Rank, Rank> pair);

  /// The other ranks on the node of `root`, or the first rank of each other node: the ranks of a node share its port.
  std::vector<Rank> peers_of(Rank root, bool same_node) const;
  /// The measurement of each run, by its root. Errors as measure_fans.
  Result<std::vector<double>> measure(FanOptions options, const std::vector<FanRun>& runs);

  /// This rank's share of the processors that it may run on, where other ranks of its node may run on the same ones.
  Result<OwnProcessors> own_processors();

  /// Says goodbye, when all are through.
  Status close();

 private:
  explicit ProfileJob(runtime::Launch launch) : launch_(std::move(launch)) {}
  Result<std::vector<std::string>> gather(const std::string& what, const std::string& mine);
  /// The interface that a session of this rank takes; "": the transport chooses.
  std::string own_interface() const;

  runtime::Launch launch_;
  std::unique_ptr<runtime::Group> group_;
  Topology topology_;
  std::uint64_t measured_ = 0;
};

}  // namespace casync::tools
