// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/launch/environment.h"

#include <arpa/inet.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <random>
#include <string_view>

#include "base/unique_fd.h"

extern char** environ;

namespace casync::tools {
namespace {

constexpr int kLeastPort = 15000, kTries = 100;

constexpr std::array kOtherLaunchers = {"CASYNC_RANK",
                                        "CASYNC_SIZE",
                                        "CASYNC_LOCAL_RANK",
                                        "CASYNC_LOCAL_SIZE",
                                        "CASYNC_RENDEZVOUS",
                                        "CASYNC_TOKEN",
                                        "CASYNC_TOKEN_FILE",
                                        "RANK",
                                        "WORLD_SIZE",
                                        "LOCAL_RANK",
                                        "LOCAL_WORLD_SIZE",
                                        "GROUP_RANK",
                                        "ROLE_RANK",
                                        "ROLE_WORLD_SIZE",
                                        "GROUP_WORLD_SIZE",
                                        "MASTER_ADDR",
                                        "MASTER_PORT",
                                        "TORCHELASTIC_RUN_ID",
                                        "TORCHELASTIC_RESTART_COUNT",
                                        "TORCHELASTIC_MAX_RESTARTS",
                                        "TORCHELASTIC_USE_AGENT_STORE",
                                        "OMPI_COMM_WORLD_RANK",
                                        "PMI_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "PMI_SIZE",
                                        "MPI_LOCALRANKID",
                                        "MPI_LOCALNRANKS",
                                        "PMIX_RANK",
                                        "PMIX_NAMESPACE",
                                        "OMPI_COMM_WORLD_LOCAL_RANK",
                                        "SLURM_PROCID",
                                        "SLURM_LOCALID",
                                        "SLURM_NTASKS",
                                        "OMPI_COMM_WORLD_LOCAL_SIZE",
                                        "SLURM_STEP_NUM_TASKS",
                                        "SLURM_NPROCS"};

std::string_view name_in(std::string_view variable) { return variable.substr(0, variable.find('=')); }

/// The first of the ports that the kernel gives to whoever asks for any.
int first_of_any() {
  std::ifstream range("/proc/sys/net/ipv4/ip_local_port_range");
  int first = 0;
  return range >> first ? first : 32768;
}

/// Binds a socket to this port, or with 0 to any, for a moment. Returns the port; 0: it could not (errno).
int bound_port(int wanted) {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<std::uint16_t>(wanted));
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!socket.open() || ::bind(socket.get(), generic, length) != 0) return 0;
  return ::getsockname(socket.get(), generic, &length) == 0 ? ntohs(address.sin_port) : 0;
}

bool set_in(std::span<const std::string> variables, std::string_view name) {
  return std::any_of(variables.begin(), variables.end(), [&](const auto& v) { return name_in(v) == name; });
}

}  // namespace

std::vector<std::string> rank_environment(std::span<const std::string> inherited, const JobPlace& place, Rank rank) {
  std::vector<std::string> result;
  for (const std::string& variable : inherited) {
    if (std::find(kOtherLaunchers.begin(), kOtherLaunchers.end(), name_in(variable)) == kOtherLaunchers.end()) {
      result.push_back(variable);
    }
  }
  const auto set = [&](const char* name, const std::string& value) { result.push_back(name + ("=" + value)); };
  const std::string self = std::to_string(rank), size = std::to_string(place.ranks);
  const std::string local = place.local_rank ? std::to_string(*place.local_rank) : self;
  const std::string local_size = place.local_rank ? std::to_string(place.local_ranks) : size;
  set("CASYNC_RANK", self);
  set("CASYNC_SIZE", size);
  set("CASYNC_LOCAL_RANK", local);
  set("CASYNC_LOCAL_SIZE", local_size);
  set("CASYNC_RENDEZVOUS", place.rendezvous);
  set("CASYNC_TOKEN", place.token);
  if (place.torch_port != 0) {
    set("MASTER_ADDR", place.torch_host);
    set("MASTER_PORT", std::to_string(place.torch_port));
    set("RANK", self);
    set("WORLD_SIZE", size);
    set("LOCAL_RANK", local);
    set("LOCAL_WORLD_SIZE", local_size);
  }
  // Pipes make Python hold its output back until it ends, and a killed rank's last words would be lost.
  if (!set_in(inherited, "PYTHONUNBUFFERED")) set("PYTHONUNBUFFERED", "1");
  if (place.threads > 0 && !set_in(inherited, "OMP_NUM_THREADS")) set("OMP_NUM_THREADS", std::to_string(place.threads));
  return result;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> result;
  for (char** variable = environ; *variable != nullptr; ++variable) result.emplace_back(*variable);
  return result;
}

Result<std::string> make_token() {
  std::array<unsigned char, 32> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return unavailable(std::string("no random bytes for the job token: ") + std::strerror(errno));
  }
  std::string hex;
  for (unsigned char byte : bytes) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

Result<int> find_free_port() {
  std::random_device random;
  const int end = first_of_any();
  for (int i = 0; i < kTries && end > kLeastPort; ++i) {
    const int port = kLeastPort + static_cast<int>(random() % static_cast<unsigned>(end - kLeastPort));
    if (bound_port(port) != 0) return port;
  }
  if (const int port = bound_port(0); port != 0) return port;
  return unavailable(std::string("no free TCP port: ") + std::strerror(errno));
}

}  // namespace casync::tools
