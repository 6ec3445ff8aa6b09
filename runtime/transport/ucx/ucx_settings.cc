// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/ucx_settings.h"

#include <cstdlib>

#include <fmt/core.h>
#include <ucs/sys/string.h>

namespace casync::runtime {
namespace {

Result<std::string> tls_of(const std::string& transport) {
  if (transport == "ucx") return std::string("self,tcp,posix,cma");
  if (transport == "ucx:tcp") return std::string("self,tcp");
  if (transport == "ucx:shm") return std::string("self,posix,cma");
  return invalid_argument(fmt::format("there is no transport \"{}\"; there are ucx, ucx:tcp and ucx:shm", transport));
}

const char* users_value(const UcxSetting& setting) { return std::getenv(fmt::format("UCX_{}", setting.name).c_str()); }

}  // namespace

Result<std::vector<UcxSetting>> ucx_settings(const std::string& transport, const Interface& interface) {
  const Result<std::string> tls = tls_of(transport);
  if (!tls) return tls.status();
  return std::vector<UcxSetting>{
      {"TLS", *tls, true},
      // All interfaces otherwise: UCX stripes large messages over whatever it finds, lo included. Not applied to
      // shared memory, which has devices of its own.
      {"NET_DEVICES", interface.name, true},
      {"TCP_AF_PRIO", interface.is_ipv6 ? "inet6" : "inet", false},  // its default overruns a block with IPv6
      {"MAX_RNDV_RAILS", "1", false},
      // Announced messages go straight to their place. By default shared memory copies up to half a megabyte once
      // more; on tcp the round trip of announcing costs a 64 KiB message half its time.
      {"RNDV_THRESH", "128k", true},
      // The defaults (8 KiB segments, small socket buffers) reach a quarter of this.
      {"TCP_SNDBUF", "4m", true},
      {"TCP_RCVBUF", "4m", true},
      {"TCP_TX_SEG_SIZE", "512k", true},
      {"TCP_RX_SEG_SIZE", "512k", true},
      // A silent peer is found in seconds rather than in half a minute; with data unacknowledged only the user
      // timeout helps (UCX 1.22 on).
      {"TCP_KEEPIDLE", "2s", false},
      {"TCP_KEEPINTVL", "1s", false},
      {"TCP_KEEPCNT", "3", false},
      {"TCP_USER_TIMEOUT", "5s", false},
      {"KEEPALIVE_INTERVAL", "2s", false},
      // Shared memory is not used at all for endpoints that report failures unless this says it may be.
      {"POSIX_ERROR_HANDLING", "y", false},
  };
}

void apply_settings(const std::vector<UcxSetting>& settings, ucp_config_t* config, std::string& description) {
  for (const UcxSetting& setting : settings) {
    const char* users = users_value(setting);
    if (users == nullptr && ucp_config_modify(config, setting.name, setting.value.c_str()) != UCS_OK) continue;
    if (setting.shown) description += fmt::format(" {}={}", setting.name, users != nullptr ? users : setting.value);
  }
}

Bytes bytes_in_force(const std::vector<UcxSetting>& settings, const std::string& name) {
  for (const UcxSetting& setting : settings) {
    if (name != setting.name) continue;
    const char* users = users_value(setting);
    std::size_t bytes = 0;
    if (ucs_str_to_memunits(users != nullptr ? users : setting.value.c_str(), &bytes) != UCS_OK) return 0;
    return bytes < UCS_MEMUNITS_AUTO ? bytes : 0;  // and "inf" is above it
  }
  return 0;
}

}  // namespace casync::runtime
