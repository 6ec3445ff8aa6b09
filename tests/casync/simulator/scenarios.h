// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "casync/simulator/simulate.h"

namespace casync::test {

/// Codec `none` is an identity; `half` halves every element, `byte` has 8 bits and a residual.
Result<CodecFacts> facts_of(const CodecChoice& choice);

/// Seconds of a byte on a link of 1 GB/s.
constexpr double kByte = 1e-9;

/// Codecs cost nothing and links have no latency: a byte takes `seconds_per_byte`.
Profile ideal(double seconds_per_byte);

/// A machine where everything costs something and no two numbers are alike.
Profile awkward();

/// The same with everything else that a profile may say: what tasks cost, contention of each kind, fans.
Profile crowded();

/// The profile of a machine where everything takes `factor` times as long. Slowdowns stay what they are.
Profile scaled(Profile profile, double factor);

/// One gradient that is ready at once and needed at once, in a training that takes no time.
Scenario one_gradient(int ranks, Elements elements, const Decision& decision, const Profile& profile);

/// Several gradients of mixed sizes in a training of real length, on nodes of `per_node` ranks.
Scenario several(int ranks, int per_node, const Decision& decision, const Profile& profile, int gradients = 12);

/// One codec for both hops.
Decision decision(StrategyKind strategy, int partitions, const char* codec = "none");

/// Equal but for rounding.
bool near(double a, double b);

/// The simulation; a failure ends the test with its text.
Simulation simulated(const Scenario& scenario, const SimulationOptions& options = {});

/// The text of a simulation's failure.
std::string refusal(const Scenario& scenario);

}  // namespace casync::test
