// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "casync/planner/decide.h"
#include "casync/simulator/costs.h"

namespace casync {

/// decide()'s bits of codecs from the simulator's facts of them.
inline PayloadBits payload_bits(CodecFactsOf facts_of) {
  return [facts_of = std::move(facts_of)](const CodecChoice& choice) {
    const Result<CodecFacts> facts = facts_of(choice);
    return facts && !facts->rounds ? facts->traits.bits_per_element : CodecTraits{}.bits_per_element;
  };
}

}  // namespace casync
