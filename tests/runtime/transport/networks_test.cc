// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/networks.h"

#include <catch2/catch.hpp>

namespace casync::test {
namespace {

using namespace casync::runtime;  // NOLINT: every name here is from there

const std::vector<UcxResource> kMellanox = {
    {"self", "memory", ""},
    {"tcp", "eth0", ""},
    {"tcp", "ib0", ""},
    {"rc_verbs", "mlx5_0:1", "ib0"},
    {"rc_mlx5", "mlx5_0:1", "ib0"},
    {"dc_mlx5", "mlx5_0:1", "ib0"},
    {"ud_mlx5", "mlx5_0:1", "ib0"},
    {"rc_mlx5", "mlx5_1:1", "ib1"},
    {"ud_mlx5", "mlx5_1:1", "ib1"},
    {"posix", "memory", ""},
};
const std::vector<UcxResource> kEthernet = {{"self", "memory", ""}, {"tcp", "eth0", ""}, {"posix", "memory", ""}};
const std::vector<UcxResource> kNoSharedMemory = {{"self", "memory", ""}, {"tcp", "eth0", ""}};
const Interface kEth0{"eth0"};

UcxNetworks chosen(const std::string& name, bool is_wanted, const std::vector<UcxResource>& found,
                   const Interface& interface = kEth0) {
  const Result<UcxNetworks> networks = choose_networks(name, interface, is_wanted, found);
  REQUIRE(networks.status().text() == "OK");
  return *networks;
}

}  // namespace

TEST_CASE("networks: without RDMA ucx takes shared memory and the interface") {
  const UcxNetworks networks = chosen("ucx", false, kEthernet);
  CHECK(networks.transports == "self,tcp,posix,cma");
  CHECK(networks.devices == "eth0");
  CHECK_FALSE(networks.rdma);
}

TEST_CASE("networks: ucx takes each RDMA device once, and TCP for ranks that have none") {
  for (const char* name : {"ucx", "ucx:rdma"}) {
    const UcxNetworks networks = chosen(name, false, kMellanox);
    CHECK(networks.transports == "self,tcp,posix,cma,rc,dc,ud");
    CHECK(networks.devices == "mlx5_0:1,mlx5_1:1,eth0");
    CHECK(networks.rdma);
  }
}

TEST_CASE("networks: an interface that the user names keeps other RDMA devices out") {
  const UcxNetworks first = chosen("ucx", true, kMellanox, Interface{"ib1"});
  CHECK(first.transports == "self,tcp,posix,cma,rc,ud");
  CHECK(first.devices == "mlx5_1:1,ib1");
  const UcxNetworks none = chosen("ucx", true, kMellanox, kEth0);
  CHECK(none.devices == "eth0");
  CHECK_FALSE(none.rdma);
}

TEST_CASE("networks: older verbs and other vendors' devices are RDMA, too") {
  CHECK(chosen("ucx", false, {{"rc_verbs", "hfi1_0:1", ""}}).transports == "self,tcp,cma,rc");
  CHECK(chosen("ucx", false, {{"ud_verbs", "bnxt_re0:1", ""}}).devices == "bnxt_re0:1,eth0");
  CHECK(chosen("ucx", false, {{"srd", "efa_0:1", ""}, {"posix", "memory", ""}}).transports == "self,tcp,posix,cma,srd");
}

TEST_CASE("networks: ucx:tcp and ucx:shm leave RDMA alone") {
  CHECK(chosen("ucx:tcp", false, kMellanox).transports == "self,tcp");
  CHECK(chosen("ucx:tcp", false, kMellanox).devices == "eth0");
  CHECK(chosen("ucx:shm", false, kMellanox).transports == "self,posix,cma");
}

TEST_CASE("networks: without room in /dev/shm ucx goes over TCP, and ucx:shm is refused") {
  CHECK(chosen("ucx", false, kNoSharedMemory).transports == "self,tcp,cma");
  const Status refused = choose_networks("ucx:shm", kEth0, false, kNoSharedMemory).status();
  CHECK(refused.code() == StatusCode::kUnavailable);
  CHECK(refused.message().find("/dev/shm") != std::string::npos);
}

TEST_CASE("networks: ucx:rdma without a device says what there is") {
  const Status none = choose_networks("ucx:rdma", kEth0, false, kEthernet).status();
  CHECK(none.code() == StatusCode::kUnavailable);
  CHECK(none.message().find("self/memory,tcp/eth0") != std::string::npos);
  const Status wanted = choose_networks("ucx:rdma", kEth0, true, kMellanox).status();
  CHECK(wanted.message().find("of the interface eth0") != std::string::npos);
  CHECK(choose_networks("ucx:carrier-pigeon", kEth0, false, {}).status().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("socket buffers: as the link needs, within a budget over all peers") {
  const Seconds kMillisecond(0.001);
  CHECK(socket_buffer_bytes(0, kMillisecond, 1) == 4_MiB);         // unknown: taken for fast
  CHECK(socket_buffer_bytes(100e9, kMillisecond, 7) == 4_MiB);     // never more
  CHECK(socket_buffer_bytes(10e9, kMillisecond, 7) == 2'500'000);  // twice 1.25 MB under way
  CHECK(socket_buffer_bytes(1e9, kMillisecond, 7) == 256_KiB);     // never less for few peers
  CHECK(socket_buffer_bytes(1e9, Seconds(0.02), 7) == 4_MiB);      // a long way
  CHECK(socket_buffer_bytes(100e9, kMillisecond, 1023) == kSocketBudget / 1023);
  CHECK(socket_buffer_bytes(100e9, kMillisecond, 100'000) == 64_KiB);
  CHECK(socket_buffer_bytes(100e9, kMillisecond, 0) == 4_MiB);  // one rank
}

}  // namespace casync::test
