// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/units.h"
#include "casync/simulator/fan.h"
#include "runtime/transport/transport.h"

namespace casync::tools {

struct FanOptions {
  std::string transport;
  std::string interface_name;
  Bytes bytes = 256_KiB;  ///< of a message
  double seconds = 0.2;   ///< of a run
  int rounds = 5;         ///< of all runs, in turns, so that what others do on the machine meets each; the least counts
  Seconds patience{20};   ///< for each answer of another rank
  /// Opens the transport; a test may have one of threads.
  std::function<Result<std::unique_ptr<runtime::Transport>>(const std::string& name,
                                                            const runtime::TransportOptions& options)>
      open = runtime::make_transport;
};

/// Messages between one rank and others at the same time.
struct FanRun {
  enum class Kind : std::uint8_t { kIncast, kOutcast };
  Kind kind{};  ///< the peers send to the root, or the root to the peers
  Rank root = 0;
  std::vector<Rank> peers;
};

/// This process among all that measure.
struct FanSide {
  Rank rank = 0;
  int ranks = 1;
  std::uint64_t epoch = 0;  ///< of this measurement, the same on all
  /// Collective: every rank's blob, by rank. `what` names it.
  std::function<Result<std::vector<std::string>>(const std::string& what, const std::string& mine)> gather;
};

/// Carries out the runs, one after the other, and so again; all ranks call it with the same ones. Of each whose root
/// this rank is: seconds of a peer's message, over all messages of all peers; of others 0. Errors as make_transport and
/// Transport::connect; Timeout: names a rank that does not answer; InvalidArgument: no run, or the name of a transport
/// of threads.
Result<std::vector<double>> measure_fans(const FanOptions& options, const FanSide& side,
                                         const std::vector<FanRun>& runs);

/// The runs that show the effect of several of `peers` on `root`, both ways: each alone, then 3 of them, 7 of them, or
/// all that there are if those are fewer. Fewer than two peers: none.
std::vector<FanRun> fan_runs(Rank root, std::vector<Rank> peers);

/// The slowdown of several peers, compared with the same peers one after the other; never below 1 in `fan`.
struct MeasuredFan {
  Fan fan;
  std::vector<Fan::Point> seen;  ///< including slowdowns below 1
};
MeasuredFan fan_of(FanRun::Kind kind, const std::vector<FanRun>& runs, const std::vector<double>& seconds);

}  // namespace casync::tools
