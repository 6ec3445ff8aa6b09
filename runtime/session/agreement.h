// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "casync/model/gradient.h"
#include "casync/model/plan.h"
#include "runtime/control/group.h"

namespace casync::runtime {

/// Facts of one rank, each with its name, in an order that is the same wherever the facts are.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// Compares this rank's facts with everybody's. Collective; `what` is the title of the exchange.
/// InvalidArgument, the same on every rank: the first fact that differs, and both ranks' values ("nothing"
/// where one has no such fact).
Status agree(Group& group, const std::string& what, const Facts& facts, Clock::time_point deadline);

/// The first difference between rank 0's facts and another's, "" when there is none.
std::string first_difference(std::span<const Facts> of_rank);

/// A codec as ranks and saved states compare it: "int4:block=64"; of a file what it says and not where it lies, "mine
/// (program 0123456789abcdef):block=64". A file that cannot be loaded is its path and why.
std::string identity_of(const CodecChoice& choice);

/// A decision, "int4:block=64 / bf16, ps, 4 partitions, priority 3".
std::string text_of(const Decision& decision);

/// What a plan says, line by line, as facts.
Facts facts_of(const Plan& plan);

/// What a declared gradient is and what will happen to it.
std::string text_of(const GradientSpec& gradient, const Decision& decision);

}  // namespace casync::runtime
