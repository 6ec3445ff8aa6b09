// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/nearest_interface.h"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

#include "tests/support/temporary_directory.h"

namespace casync::test {
namespace {

using namespace casync::runtime;  // NOLINT: every name here is from there

namespace fs = std::filesystem;

/// A machine's devices as the kernel shows them: two sockets; on the first a switch with a GPU and eth0, and eth1 at a
/// port of its own; on the second a GPU and eth2 at ports of their own; bond0 is no device.
class Machine {
 public:
  Machine() {
    add_device("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0", 0, "0000:02:00.0");
    add_interface("eth0", "pci0000:00/0000:00:01.0/0000:01:00.0/0000:03:00.0", 0);
    add_interface("eth1", "pci0000:00/0000:00:02.0/0000:04:00.0", 0);
    add_device("pci0000:80/0000:80:01.0/0000:81:00.0", 1, "0000:81:00.0");
    add_interface("eth2", "pci0000:c0/0000:c0:01.0/0000:c1:00.0", 1);
    fs::create_directories(root() / "class/net/bond0");
  }

  std::string nearest(const std::vector<std::string>& interfaces, const std::string& gpu, int local_rank = 0) const {
    return nearest_interface(interfaces, {gpu, local_rank}, root().string());
  }

 private:
  fs::path root() const { return directory_.path(); }
  void add_device(const std::string& way, int numa_node, const std::string& address) {
    const fs::path device = root() / "devices" / way;
    fs::create_directories(device);
    std::ofstream(device / "numa_node") << numa_node << '\n';
    fs::create_directories(root() / "bus/pci/devices");
    fs::create_directory_symlink(device, root() / "bus/pci/devices" / address);
  }
  void add_interface(const std::string& name, const std::string& way, int numa_node) {
    add_device(way, numa_node, way.substr(way.rfind('/') + 1));
    fs::create_directories(root() / "class/net" / name);
    fs::create_directory_symlink(root() / "devices" / way, root() / "class/net" / name / "device");
  }

  TemporaryDirectory directory_;
};

}  // namespace

TEST_CASE("nearest interface: the one behind the GPU's switch, on its root, on its NUMA node") {
  const Machine machine;
  const std::vector<std::string> all = {"bond0", "eth2", "eth1", "eth0"};
  CHECK(machine.nearest(all, "0000:02:00.0") == "eth0");
  CHECK(machine.nearest(all, "0000:02:00.0", 3) == "eth0");
  CHECK(machine.nearest({"bond0", "eth2", "eth1"}, "0000:02:00.0") == "eth1");
  CHECK(machine.nearest(all, "0000:81:00.0") == "eth2");
  CHECK(machine.nearest({"bond0"}, "0000:81:00.0") == "bond0");
}

TEST_CASE("nearest interface: ranks take equally near ones by turns") {
  const Machine machine;
  const std::vector<std::string> all = {"eth2", "eth0", "bond0"};
  for (int rank = 0; rank < 6; ++rank) {
    CHECK(machine.nearest(all, "", rank) == all[static_cast<std::size_t>(rank % 3)]);
    CHECK(machine.nearest(all, "0000:ff:00.0", rank) == all[static_cast<std::size_t>(rank % 3)]);  // no such GPU
  }
  CHECK(machine.nearest({}, "0000:02:00.0").empty());
}

}  // namespace casync::test
