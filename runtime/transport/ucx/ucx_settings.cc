// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/ucx_settings.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include <fmt/core.h>
#include <ucs/sys/string.h>

namespace casync::runtime {
namespace {

std::string text_of(Bytes bytes) {
  return bytes % 1_MiB == 0 ? fmt::format("{}m", bytes / 1_MiB) : fmt::format("{}k", bytes / 1_KiB);
}

// A round trip within a data center, with some queues on the way.
constexpr Seconds kRoundTrip{0.001};

// The kernel counts keep-alives in seconds.
std::string whole_seconds(Seconds time) { return fmt::format("{}s", std::max(1, static_cast<int>(time.count()))); }

const char* users_value(const UcxSetting& setting) { return std::getenv(fmt::format("UCX_{}", setting.name).c_str()); }

std::string value_in_force(const UcxSetting& setting) {
  const char* users = users_value(setting);
  return users != nullptr ? users : setting.value;
}

const UcxSetting* find_setting(const std::vector<UcxSetting>& settings, const std::string& name) {
  const auto found =
      std::find_if(settings.begin(), settings.end(), [&](const UcxSetting& setting) { return name == setting.name; });
  return found != settings.end() ? &*found : nullptr;
}

}  // namespace

std::vector<UcxSetting> ucx_settings(const UcxNetworks& networks, const Interface& interface, int peers, Seconds dead) {
  const Bytes buffer = socket_buffer_bytes(interface.bits_per_second, kRoundTrip, peers);
  const std::string buffer_text = text_of(buffer);
  const std::string segment_text = text_of(std::min(buffer / 4, 512_KiB));
  std::vector<UcxSetting> settings = {
      {"TLS", networks.transports, true},
      // All interfaces otherwise: UCX stripes large messages over whatever it finds, lo included. Not applied to
      // shared memory, which has devices of its own.
      {"NET_DEVICES", networks.devices, true},
      {"TCP_AF_PRIO", interface.is_ipv6 ? "inet6" : "inet", false},  // its default overruns a block with IPv6
      {"MAX_RNDV_RAILS", "1", false},
      // Announced messages go straight to their place. By default shared memory copies up to half a megabyte once
      // more; on tcp the round trip of announcing costs a 64 KiB message half its time.
      {"RNDV_THRESH", "128k", true},
      // With UCX's own (8 KiB segments, small socket buffers) a fast link reaches a quarter of this.
      {"TCP_SNDBUF", buffer_text, true},
      {"TCP_RCVBUF", buffer_text, true},
      {"TCP_TX_SEG_SIZE", segment_text, true},
      {"TCP_RX_SEG_SIZE", segment_text, true},
      // A silent peer is found when the control plane finds it; with data unacknowledged, or a peer that takes none,
      // only the user timeout counts (UCX 1.22 on).
      {"TCP_KEEPIDLE", whole_seconds(0.4 * dead), false},
      {"TCP_KEEPINTVL", whole_seconds(0.2 * dead), false},
      {"TCP_KEEPCNT", "3", false},
      {"TCP_USER_TIMEOUT", fmt::format("{:.0f}ms", 1e3 * dead.count()), false},
      {"KEEPALIVE_INTERVAL", fmt::format("{:.0f}ms", 400 * dead.count()), false},
      // Shared memory is not used at all for endpoints that report failures unless this says it may be.
      {"POSIX_ERROR_HANDLING", "y", false},
  };
  // A receiver reads what was announced; no peer writes into its memory, which may be in use for something else by the
  // time that a peer which stood still goes on.
  if (networks.rdma) settings.push_back({"RNDV_SCHEME", "get_zcopy", true});
  return settings;
}

void apply_settings(const std::vector<UcxSetting>& settings, ucp_config_t* config, std::string& description) {
  for (const UcxSetting& setting : settings) {
    const char* users = users_value(setting);
    if (users == nullptr && ucp_config_modify(config, setting.name, setting.value.c_str()) != UCS_OK) continue;
    if (setting.shown) description += fmt::format(" {}={}", setting.name, users != nullptr ? users : setting.value);
  }
}

bool is_users(const std::vector<UcxSetting>& settings, const std::string& name) {
  const UcxSetting* const setting = find_setting(settings, name);
  return setting != nullptr && users_value(*setting) != nullptr;
}

bool lack_shared_memory(const std::vector<UcxSetting>& settings) {
  const UcxSetting* const setting = find_setting(settings, "TLS");
  if (setting == nullptr) return false;
  // UCX's names of networks; all others are of shared memory, of devices, or of several kinds.
  constexpr std::string_view kNetworks[] = {"self", "tcp", "rc", "dc", "ud", "srd", "ib"};
  std::istringstream names(value_in_force(*setting));
  for (std::string name; std::getline(names, name, ',');) {
    const auto is_name = [&](std::string_view network) { return name == network; };
    if (std::none_of(std::begin(kNetworks), std::end(kNetworks), is_name)) return false;
  }
  return true;
}

Bytes bytes_in_force(const std::vector<UcxSetting>& settings, const std::string& name) {
  const UcxSetting* const setting = find_setting(settings, name);
  std::size_t bytes = 0;
  if (setting == nullptr || ucs_str_to_memunits(value_in_force(*setting).c_str(), &bytes) != UCS_OK) return 0;
  return bytes < UCS_MEMUNITS_AUTO ? bytes : 0;  // and "inf" is above it
}

}  // namespace casync::runtime
