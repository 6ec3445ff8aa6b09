// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/plan_module/read_mode.h"

#include <string>

#include "proto/checked_numbers.h"

namespace casync {
namespace {

constexpr std::int64_t kMostFirst = 1'000'000;  // ranks; a session knows how many there are

namespace wire = plan::v1;
using proto::checked;
using proto::Placed;

Neighbours read_neighbours(const Placed<wire::Gossip>& from) {
  constexpr int kNumber = wire::Gossip::kNeighboursFieldNumber;
  constexpr const char* kExpected = ", expected ring or pairs";
  if (!from->has_neighbours()) {
    from.refuse("gossip without neighbours, expected neighbours: ring or pairs");
  } else if (from.written_as_number(kNumber)) {
    from.refuse(kNumber, "neighbours " + std::to_string(from->neighbours()) + kExpected + " (by name)");
  } else if (from->neighbours() == wire::Gossip::pairs) {
    return Neighbours::kPairs;
  } else if (from->neighbours() != wire::Gossip::ring) {
    from.refuse(kNumber, std::string("neighbours `NEIGHBOURS_UNSPECIFIED`") + kExpected);
  }
  return Neighbours::kRing;
}

/// The gossip's gamma; 0: the plan has none.
double read_gamma(const Placed<wire::Gossip>& from, Neighbours neighbours) {
  constexpr int kNumber = wire::Gossip::kGammaFieldNumber;
  if (!from->has_gamma()) return 0;
  const double gamma = checked(from, kNumber, from->gamma(), 0);
  if (!(gamma > 0 && gamma <= 1)) {
    from.refuse(kNumber, "gamma " + proto::number_text(gamma) + ", expected above 0 and at most 1");
  }
  if (neighbours == Neighbours::kPairs) {
    from.refuse(kNumber, "gamma beside neighbours: pairs, expected neighbours: ring: it is for codecs that lose");
  }
  return gamma;
}

SyncMode read_gossip(const Placed<wire::Plan>& from, const SyncMode& others) {
  constexpr int kNumber = wire::Plan::kGossipFieldNumber;
  const auto gossip = from.inner(from->gossip(), kNumber);
  SyncMode mode;
  mode.neighbours = read_neighbours(gossip);
  mode.every =
      gossip.within(wire::Gossip::kEveryFieldNumber, gossip->has_every(), gossip->every(), 1, kMostSteps).value_or(1);
  mode.from_step =
      gossip.within(wire::Gossip::kFromStepFieldNumber, gossip->has_from_step(), gossip->from_step(), 0, kMostSteps)
          .value_or(mode.from_step);
  mode.gamma = read_gamma(gossip, mode.neighbours);
  if (others.staleness > 0) from.refuse(kNumber, "gossip beside staleness, expected one of the two");
  if (from->has_local_sgd()) from.refuse(kNumber, "gossip beside local_sgd, expected one of the two");
  return mode;
}

SyncMode read_asynchronous(const Placed<wire::Plan>& from, const SyncMode& others) {
  constexpr int kNumber = wire::Plan::kAsynchronousFieldNumber;
  const auto asynchronous = from.inner(from->asynchronous(), kNumber);
  SyncMode mode;
  mode.asynchronous.emplace();
  mode.asynchronous->bound = asynchronous.within(wire::Asynchronous::kBoundFieldNumber, asynchronous->has_bound(),
                                                 asynchronous->bound(), 0, kMostSteps);
  mode.asynchronous->first = asynchronous
                                 .within(wire::Asynchronous::kFirstFieldNumber, asynchronous->has_first(),
                                         asynchronous->first(), 1, kMostFirst)
                                 .value_or(mode.asynchronous->first);
  const auto refuse = [&](bool there, const std::string& other) {
    if (there) from.refuse(kNumber, "asynchronous beside " + other + ", expected one of the two");
  };
  refuse(others.staleness > 0, "staleness");
  refuse(from->has_local_sgd(), "local_sgd");
  refuse(from->has_gossip(), "gossip");
  return mode;
}

}  // namespace

SyncMode read_mode(const proto::Placed<wire::Plan>& from) {
  SyncMode mode;
  mode.staleness =
      from.within(wire::Plan::kStalenessFieldNumber, from->has_staleness(), from->staleness(), 0, kMostStaleness)
          .value_or(mode.staleness);
  if (from->has_asynchronous()) return read_asynchronous(from, mode);
  if (from->has_gossip()) return read_gossip(from, mode);
  if (!from->has_local_sgd()) return mode;
  const auto local = from.inner(from->local_sgd(), wire::Plan::kLocalSgdFieldNumber);
  if (!local->has_every()) local.refuse("local_sgd without every, expected every: STEPS");
  mode.every = local.within(wire::LocalSgd::kEveryFieldNumber, local->has_every(), local->every(), 1, kMostSteps)
                   .value_or(mode.every);
  mode.from_step =
      local.within(wire::LocalSgd::kFromStepFieldNumber, local->has_from_step(), local->from_step(), 0, kMostSteps)
          .value_or(mode.from_step);
  if (mode.staleness > 0) {
    from.refuse(wire::Plan::kStalenessFieldNumber,
                "staleness " + std::to_string(mode.staleness) + " beside local_sgd, expected one of the two");
  }
  return mode;
}

}  // namespace casync
