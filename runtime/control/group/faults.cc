// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/faults.h"

#include <fmt/format.h>

namespace casync::runtime {

Abort died(const Identity& who, const Status& reason) {
  if (reason.code() == StatusCode::kDataLoss) {
    return {who.rank, data_loss(fmt::format("{}: {}", who.text(), reason.message()))};
  }
  return {who.rank, peer_failure(fmt::format("{} died: {}", who.text(), reason.message()))};
}

Abort silent(const Identity& who, Seconds silence) {
  return {who.rank, peer_failure(fmt::format("{}: no sign of life for {:.1f} s", who.text(), silence.count()))};
}

Abort left_early(const Identity& who, const std::string& what) {
  return {who.rank,
          peer_failure(fmt::format("{} closed its session while others wait for it in \"{}\"", who.text(), what))};
}

Status cause_for(Rank self, const Abort& abort) {
  if (abort.culprit != self) return abort.cause;
  return {abort.cause.code(), "the other ranks gave this one up: " + abort.cause.message()};
}

}  // namespace casync::runtime
