// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "casync/simulator/answering_owners.h"

namespace casync {

/// The parts of a run in which ranks do not all exchange with all.
struct Drift {
  std::vector<std::uint32_t> pairings;  ///< of gossip in pairs, by exchange: gossip_pairings()
  AnsweringOwners* owners = nullptr;    ///< of asynchronous ranks; borrowed
  std::vector<bool> contributes;        ///< of asynchronous ranks, by rank: false for dedicated servers
};

}  // namespace casync
