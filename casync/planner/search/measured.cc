// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/search/measured.h"

#include <algorithm>
#include <set>

#include "casync/simulator/costs.h"

namespace casync {

bool is_measured(const Profile& profile, const CodecChoice& codec) {
  return codec.name == "none" || !curves_of(profile, text_of(codec)).encode.empty();
}

bool measures_codecs(const Profile& profile) {
  return std::any_of(profile.codecs.begin(), profile.codecs.end(),
                     [](const auto& codec) { return !codec.second.encode.empty(); });
}

std::vector<std::string> assumed_codecs(const Profile& profile, const PlannedStep& step) {
  std::set<std::string> names;
  for (const Decision& decision : step.decisions) {
    for (const CodecChoice& codec : {decision.codec, decision.second_hop}) {
      if (!is_measured(profile, codec)) names.insert(text_of(codec));
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace casync
