// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/wire/identity.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <fstream>
#include <sstream>

namespace casync::runtime {
namespace {

constexpr Bytes kMostText = 255;

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string("?");
}

std::string machine_id() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::array<char, 64> pids{};
  const ssize_t size = readlink("/proc/self/ns/pid", pids.data(), pids.size() - 1);
  // Without both, no two processes are taken for neighbours.
  if (boot.empty() || size <= 0) return "";
  return boot + " " + std::string(pids.data(), static_cast<std::size_t>(size));
}

}  // namespace

std::string Identity::text() const { return fmt::format("rank {} ({}, pid {})", rank, host, pid); }

bool Identity::is_process_of(const Identity& other) const {
  return machine == other.machine && host == other.host && pid == other.pid && started == other.started;
}

std::string Identity::build() const { return fmt::format("casync {} (protocol {}, {})", version, protocol, abi); }

Identity own_identity(Rank rank, int ranks) {
  Identity self;
  self.rank = rank;
  self.ranks = ranks;
  self.host = host_name();
  self.pid = getpid();
  self.started = start_of_process(self.pid);
  self.machine = machine_id();
  self.version = CASYNC_VERSION;
  self.abi =
      fmt::format("{}-bit {}-endian", 8 * sizeof(void*), std::endian::native == std::endian::little ? "little" : "big");
  return self;
}

void write_identity(WireWriter& writer, const Identity& identity) {
  writer.u32(identity.protocol).text(identity.version).text(identity.abi);
  writer.u32(static_cast<std::uint32_t>(identity.rank)).u32(static_cast<std::uint32_t>(identity.ranks));
  writer.text(identity.host.substr(0, kMostText)).u32(static_cast<std::uint32_t>(identity.pid));
  writer.u64(identity.started).text(identity.machine);
}

Identity read_identity(WireReader& reader) {
  Identity identity;
  identity.protocol = reader.u32();
  identity.version = reader.text(kMostText);
  identity.abi = reader.text(kMostText);
  identity.rank = static_cast<Rank>(reader.u32());
  identity.ranks = static_cast<int>(reader.u32());
  identity.host = reader.text(kMostText);
  identity.pid = static_cast<int>(reader.u32());
  identity.started = reader.u64();
  identity.machine = reader.text(kMostText);
  return identity;
}

std::uint64_t start_of_process(int pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  if (!std::getline(file, line)) return 0;
  // The second field is the program's name in parentheses and may hold anything: count from its end.
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(line.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  std::uint64_t started = 0;
  fields >> started;
  return started;
}

}  // namespace casync::runtime
