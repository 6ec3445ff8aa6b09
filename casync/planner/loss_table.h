// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "casync/model/plan.h"

namespace casync {

/// Pairs of codecs, for the way to the owner and the way back, that trainings of this repository have measured
/// (docs/codecs.md, tests/bench/loss).
struct CodecPair {
  CodecChoice first, second;
};
std::vector<CodecPair> trained_pairs();

/// Returns the additional steps, as a share of the steps without compression, that a training takes to the same loss
/// with every gradient in this pair of codecs: (1 + p)^(1/e) - 1, where p is the increase of the loss and e the
/// exponent with which the loss of uncompressed trainings falls with their steps. The optimizer with more steps counts,
/// and a p below twice its standard error is 0. A pair without trainings has the larger figure of its codecs on both
/// hops; a codec with other parameters, that of its defaults. Infinity: only a finer second hop was tried. Empty: no
/// training has used either codec.
std::optional<double> more_steps(const CodecChoice& first, const CodecChoice& second);

/// The modes of synchronization that trainings of this repository have measured, uncompressed: local SGD by its steps,
/// then staleness by its steps. Each from the first step on.
std::vector<SyncMode> trained_modes();

/// The same share for a mode: local SGD of so many steps counts like the trained one with as many or more that needs
/// fewest, and staleness likewise; `from_step` changes nothing. 0 if every step exchanges and waits. Empty: no
/// training had as many steps, or the mode is gossip.
std::optional<double> more_steps(const SyncMode& mode);

}  // namespace casync
