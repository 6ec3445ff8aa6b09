// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/ucx_address.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>

#include <fmt/core.h>

#include "runtime/transport/checksum.h"

namespace casync::runtime {
namespace {

// The same in all processes of a running system, whatever namespaces they are in.
std::string host_mark() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot_id;
  std::getline(file, boot_id);
  return fmt::format("{:016x}", checksum({reinterpret_cast<const std::byte*>(boot_id.data()), boot_id.size()}));
}

// The namespace that numbers of processes belong to, "pid:[4026531836]".
std::string pid_namespace() {
  char name[64] = "";
  const ssize_t size = readlink("/proc/self/ns/pid", name, sizeof name);
  return {name, static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

std::string own_place() { return fmt::format("{}.{}.{}", host_mark(), pid_namespace(), getpid()); }

std::string line_of(const std::string& transport, std::string_view place, std::string_view bytes) {
  const ConstView view(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size());
  return fmt::format("casync-ucx2 {} {} {:016x}\n", transport, place, checksum(view));
}

// The place in such a line, or "".
std::string_view place_of(std::string_view line) {
  const std::size_t end = line.rfind(' ');
  if (end == std::string_view::npos) return {};
  const std::size_t begin = line.substr(0, end).rfind(' ');
  return begin == std::string_view::npos ? std::string_view() : line.substr(begin + 1, end - begin - 1);
}

}  // namespace

bool UcxAddress::on_this_host() const { return place.starts_with(host_mark() + "."); }

int UcxAddress::pid() const {
  const std::string neighbours = fmt::format("{}.{}.", host_mark(), pid_namespace());
  if (pid_namespace().empty() || !place.starts_with(neighbours)) return 0;
  int pid = 0;
  std::from_chars(place.data() + neighbours.size(), place.data() + place.size(), pid);
  return pid;
}

std::string ucx_address_text(const std::string& transport, std::string_view bytes) {
  std::string text = line_of(transport, own_place(), bytes);
  text += bytes;
  return text;
}

Result<UcxAddress> read_ucx_address(const std::string& transport, const std::string& text) {
  const std::size_t end = text.find('\n');
  const std::string line = text.substr(0, end == std::string::npos ? 0 : end + 1);
  const std::string_view bytes = std::string_view(text).substr(line.size());
  if (line.empty() || line != line_of(transport, place_of(line), bytes)) {
    return invalid_argument(
        fmt::format("no address of the transport {}: \"{}\"", transport, line.substr(0, line.find('\n'))));
  }
  return UcxAddress{std::string(place_of(line)), std::string(bytes)};
}

}  // namespace casync::runtime
