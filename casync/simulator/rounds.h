// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "base/status.h"
#include "casync/model/gradient.h"
#include "casync/model/plan.h"
#include "casync/simulator/costs.h"
#include "casync/simulator/outline.h"
#include "casync/simulator/profile.h"

namespace casync {

/// The course of a gradient whose codec exchanges within a step: a turn, an exchange, a turn, and so on to the last
/// turn. Exchanges are of float32, in codecs of their own.
struct Rounds {
  struct Exchange {
    Elements elements = 0;
    Decision decision;
  };
  std::vector<Exchange> exchanges;
  std::vector<double> turn_s;  ///< one more than there are exchanges
  Elements states = 0;         ///< floats that are kept from step to step
};

/// Applies a session's rules to `decision`: if its codec exchanges, returns the rounds, or, for gradients that are not
/// the matrices it needs or do not pay, changes it to a decision to send them as they are. Nullopt: `decision`, which
/// may be new, encodes. A scattered gradient's is that of its shards (scatter()). PlanError: such a codec on one hop
/// only, with dedicated servers, or for a scattered gradient. InvalidArgument: its elements are no equal shards. Errors
/// of `facts_of`.
Result<std::optional<Rounds>> rounds_of(Decision& decision, const GradientSpec& spec, int ranks, const Profile& profile,
                                        const CodecFactsOf& facts_of);

/// The codec of elements that are sent as they are.
CodecChoice plain_codec(DType dtype);

/// The cost of `decision` on ranks that are alike, for any kind of codec. Errors as rounds_of and hop_costs.
Result<Outline> outline_of(Decision decision, const GradientSpec& spec, const AlikeRanks& ranks, const Profile& profile,
                           const CodecFactsOf& facts_of);

}  // namespace casync
