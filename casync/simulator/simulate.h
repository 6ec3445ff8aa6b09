// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "casync/model/plan.h"
#include "casync/model/topology.h"
#include "casync/simulator/costs.h"
#include "casync/simulator/profile.h"
#include "casync/simulator/rank_steps.h"
#include "casync/simulator/training.h"

namespace casync {

/// The input of a simulation: a training, with one decision for each gradient, on a cluster.
struct Scenario {
  Topology topology;
  Profile profile;
  Training training;
  std::vector<Decision> decisions;  ///< by position in training.gradients
  Bytes fusion_bytes = 0;           ///< as Plan::fusion_bytes
  SyncMode mode;                    ///< of local SGD, steps from mode.from_step on
  CodecFactsOf facts_of;
  /// ByteScheduler's credit: a port takes the most urgent messages that wait until they have so many bytes together,
  /// or one that is larger, and sends them in this order. A message gives its bytes back one latency after it has
  /// arrived. 0: none, the port takes the next message when it is free.
  Bytes credit_bytes = 0;
  std::uint64_t seed = 0;  ///< as Plan::seed: of gossip in pairs
};

struct SimulationOptions {
  int steps = 1;                 ///< of each rank, at least: simulated_steps()
  std::vector<double> slowness;  ///< by rank: slowdown of training and codecs; empty: 1 everywhere
  double jitter = 0;             ///< each rank's training takes up to this part longer, drawn anew for each step
  std::uint64_t seed = 0;        ///< of the jitter: the same seed, the same result
  bool spans = false;            ///< keep the interval of each task and pass
  bool every_rank = false;       ///< also if a few ranks can stand for all (symmetry.h), with the same result
};

enum class SimulatedKind : std::uint8_t { kBackward, kForward, kEncode, kMerge, kDecode, kSend, kRecv };

/// An interval of virtual time that one task or pass took.
struct SimulatedSpan {
  SimulatedKind kind{};
  Rank rank = 0;
  int step = 0;
  std::uint32_t gradient = 0, partition = 0, hop = 0;  ///< of a task
  Rank peer = -1;                                      ///< of a send or recv
  Bytes bytes = 0;
  double from_s = 0, to_s = 0;
};

/// The parts of a step's time: seconds of one step, mean over ranks and steps. The parts overlap.
struct StepParts {
  double training_s = 0;  ///< backward and forward pass, alone
  double encode_s = 0, merge_s = 0, decode_s = 0;
  double copies_s = 0;     ///< of payloads, to a device and from it
  double tasks_s = 0;      ///< fixed cost of tasks (Profile::task_s)
  double wire_s = 0;       ///< a rank's messages on sending ports
  double messages_s = 0;   ///< its processors sent and received (Link::send_work, Link::receive_work)
  double processor_s = 0;  ///< processor time of messages and tasks, without the slowdown by others
  double waiting_s = 0;    ///< the forward pass stood still for a gradient
  double exposed_s = 0;    ///< the step beyond training_s: waiting, and the slowdown of training by codecs
};

/// Seconds that codec tasks take in a step, mean over ranks and steps, without the fixed cost of tasks.
struct CodecWork {
  double encode_s = 0, merge_s = 0, decode_s = 0;
};

/// Seconds of one gradient, mean over ranks and steps.
struct GradientTimes {
  double sync_s = 0;     ///< from ready to the end of its last task on that rank
  double waiting_s = 0;  ///< the part in which the forward pass stood still for it
  CodecWork work;        ///< of its tasks; not from one rank that stands for all
};

/// The ranks whose tasks were simulated.
enum class SimulatedBy : std::uint8_t {
  kAllRanks,
  kSymmetricRanks,  ///< a few that stand for all, exactly (symmetry.h)
  kOneRank          ///< one that stands for all, nearly (one_rank.h)
};

struct Simulation {
  SimulatedBy by = SimulatedBy::kAllRanks;
  /// From the first rank's begin to the last rank's end, over the number of steps. With gossip and with asynchronous
  /// ranks, mean_step_s() of the ranks.
  double step_s = 0;
  StepParts parts;
  std::vector<GradientTimes> gradients;  ///< by position in training.gradients
  double wire_bytes_per_rank = 0;        ///< payloads that a rank sends in a step, mean over ranks
  double messages_per_rank = 0;          ///< messages that leave, after fusing
  std::uint64_t tasks = 0;               ///< of all ranks in a step
  std::vector<RankPace> ranks;           ///< by rank, where ranks drift apart: drifts(); else empty
  std::vector<SimulatedSpan> spans;      ///< in the order of their ends, when asked for
};

/// Returns true if a rank may end a step while another has not begun it: with gossip, with asynchronous ranks, and with
/// a staleness above 1, if ranks differ.
bool drifts(const Scenario& scenario, const SimulationOptions& options);

/// The number of steps of each rank that simulate() takes: those asked for. Where ranks drift apart, or the training
/// has a jitter, not fewer than kLeastDrawnSteps; with gossip on a ring, not fewer than two for each rank, since a
/// delay spreads by one neighbour in an exchange. In a mode that exchanges seldom (`every`), the number of exchanges.
int simulated_steps(const Scenario& scenario, const SimulationOptions& options);
inline constexpr int kLeastDrawnSteps = 64;

/// Largest number of tasks in a step; more would need gigabytes. 64 ranks and 1.3 billion parameters in
/// partitions of 1 MiB are 2 million.
inline constexpr std::uint64_t kMostSimulatedTasks = 32'000'000;

/// Runs the graphs of all ranks in virtual time: one training and one codec resource for each rank, one sending and
/// one receiving side for each port. Ready tasks of a resource run most urgent first, as the executor has them. The
/// result is a function of its arguments. Where ranks are symmetric, and none is to differ, a few of them stand for
/// all. InvalidArgument: sizes that do not fit each other, numbers that are negative or not finite, too many tasks.
/// PlanError: as make_graph, naming the gradient. Internal: graphs of which some task can never run (names it).
Result<Simulation> simulate(const Scenario& scenario, const SimulationOptions& options);

}  // namespace casync
