// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <ucp/api/ucp.h>

#include "base/clock.h"
#include "base/status.h"
#include "base/units.h"
#include "runtime/transport/ucx/interface.h"
#include "runtime/transport/ucx/networks.h"

namespace casync::runtime {

/// One of UCX's own options: UCX_<name>=<value>.
struct UcxSetting {
  const char* name;
  std::string value;
  bool shown;  ///< in description()
};

/// Settings for these networks and this interface, with sockets for up to `peers` others. A peer that is silent for
/// `dead` has failed.
std::vector<UcxSetting> ucx_settings(const UcxNetworks& networks, const Interface& interface, int peers, Seconds dead);

/// Applies each of them that the user has not set as UCX_<name>; settings that this UCX does not know are left
/// out. `description` gets the shown ones with the values in force.
void apply_settings(const std::vector<UcxSetting>& settings, ucp_config_t* config, std::string& description);

/// Returns true if the user has set one of `settings`.
bool is_users(const std::vector<UcxSetting>& settings, const std::string& name);

/// The transports in force have none of shared memory. False of a list of those to leave out ("^cma").
bool lack_shared_memory(const std::vector<UcxSetting>& settings);

/// The size in force for one of `settings`; 0: UCX chooses ("auto"), or there is no bound ("inf").
Bytes bytes_in_force(const std::vector<UcxSetting>& settings, const std::string& name);

}  // namespace casync::runtime
