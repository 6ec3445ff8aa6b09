// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "casync/simulator/profile.h"
#include "tools/casync/measurement/messages.h"
#include "tools/casync/trace/trace_folder.h"

namespace casync::tools {

/// The rate at which a rank's port sends, and at the same time receives.
struct LinkRate {
  double bytes_per_s = 0;
  std::string source;  ///< of the number: "CASYNC_LINK" or "profile"
};

/// The rate of CASYNC_LINK; else that of `profile` (null: none) between nodes, or inside the node if there is one only,
/// for large messages. Nothing: neither says it.
std::optional<LinkRate> link_rate(const TraceFolder& folder, const Profile* profile);

/// The messages that use the ranks' links: all of them if CASYNC_LINK paced them or there is one node, else those
/// between nodes.
std::vector<MessageWay> ways_over_links(const TraceFolder& folder, const std::optional<StepRange>& range = {});

/// The use of each rank's link out and in, in its steps without the first: docs/report.md describes the fields.
nlohmann::ordered_json link_numbers(const TraceFolder& folder, const std::optional<LinkRate>& rate);

}  // namespace casync::tools
