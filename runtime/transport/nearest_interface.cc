// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/nearest_interface.h"

#include <algorithm>
#include <compare>
#include <filesystem>
#include <fstream>
#include <vector>

namespace casync::runtime {
namespace {

/// A device's way through the tree of buses, from the root: "pci0000:3a", "0000:3a:00.0", "0000:3b:00.0".
struct BusPlace {
  std::vector<std::string> way;  ///< empty: it is in no tree
  int numa_node = -1;            ///< -1: the machine has one, or the kernel does not know
};

BusPlace place_of(const std::string& system, const std::string& link) {
  std::error_code error;
  const std::filesystem::path device = std::filesystem::canonical(link, error);
  const std::filesystem::path root = std::filesystem::canonical(system, error) / "devices";
  BusPlace place;
  if (device.empty()) return place;
  for (const std::filesystem::path& part : device.lexically_relative(root)) place.way.push_back(part.string());
  std::ifstream(device / "numa_node") >> place.numa_node;
  return place;
}

/// Greater: nearer.
struct Nearness {
  std::size_t shared = 0;  ///< parts of both ways
  bool one_numa_node = false;
  auto operator<=>(const Nearness&) const = default;
};

Nearness nearness(const BusPlace& a, const BusPlace& b) {
  const auto [end, ignored] = std::mismatch(a.way.begin(), a.way.end(), b.way.begin(), b.way.end());
  return {static_cast<std::size_t>(end - a.way.begin()), a.numa_node >= 0 && a.numa_node == b.numa_node};
}

}  // namespace

std::string nearest_interface(std::span<const std::string> interfaces, const Neighbourhood& rank,
                              const std::string& system) {
  if (interfaces.empty()) return "";
  const BusPlace gpu = rank.device.empty() ? BusPlace() : place_of(system, system + "/bus/pci/devices/" + rank.device);
  std::vector<std::string> nearest;
  Nearness least;
  for (const std::string& name : interfaces) {
    const Nearness here = nearness(gpu, place_of(system, system + "/class/net/" + name + "/device"));
    if (here < least) continue;
    if (here > least) nearest.clear();
    least = here;
    nearest.push_back(name);
  }
  return nearest[static_cast<std::size_t>(std::max(rank.local_rank, 0)) % nearest.size()];
}

}  // namespace casync::runtime
