// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/group.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <sstream>
#include <thread>

#include <spdlog/sinks/ostream_sink.h>

#include "base/log.h"
#include "runtime/control/launch/token.h"
#include "runtime/control/wire/socket.h"
#include "tests/runtime/control/control_support.h"
#include "tests/runtime/control/group/require_joined.h"

using namespace casync;
using namespace casync::runtime;
using namespace casync::runtime::testing;
using Catch::Matchers::Contains;

TEST_CASE("group: any number of ranks joins over a file store and knows who is there") {
  const int ranks = GENERATE(1, 2, 3, 8);
  Ranks group(ranks);
  require_joined(group.joined);
  for (const Joined& each : group.joined) {
    CHECK((*each)->epoch() == (*group.joined[0])->epoch());
    for (Rank rank = 0; rank < ranks; ++rank) CHECK((*each)->pid_of(rank) == getpid());
    CHECK((*each)->host_of(ranks - 1) == (*each)->host_of(0));
    CHECK((*each)->local_ranks() == ranks);
    CHECK((*each)->failure().is_ok());
  }
  std::vector<Status> closed(static_cast<std::size_t>(ranks));
  group.each([&](Rank rank, Group& each) { closed[static_cast<std::size_t>(rank)] = each.close(after(Seconds(5))); });
  for (const Status& status : closed) CHECK(status.text() == "OK");
}

TEST_CASE("group: ranks join over a callback store, and over an address with and without a token") {
  SharedMap map;
  std::vector<std::unique_ptr<Store>> stores;
  auto options = options_of_all(3, stores, [&] { return make_callback_store(map.functions()); });
  const std::string how = GENERATE("store", "address", "address and token", "ipv6");
  const std::uint16_t port = free_port(how == "ipv6" ? "::1" : "127.0.0.1");
  if (how == "ipv6" && port == 0) {
    WARN("[SKIP] this machine has no [::1]");
    return;
  }
  for (GroupOptions& each : options) {
    if (how == "store") continue;
    each.store = nullptr;
    each.address = (how == "ipv6" ? "[::1]:" : "localhost:") + std::to_string(port);
    if (how == "address and token") each.token = "correct horse battery staple";
  }
  const auto joined = join_all(options);
  INFO(how);
  require_joined(joined);
}

TEST_CASE("group: a bare address without a token is refused unless that is accepted") {
  GroupOptions options = quick_options(1, 2, nullptr);
  options.address = "127.0.0.1:9";
  options.insecure = false;
  const Status refused = Group::join(options).status();
  CHECK(refused.code() == StatusCode::kInvalidArgument);
  CHECK_THAT(refused.message(), Contains("127.0.0.1:9") && Contains("CASYNC_TOKEN") && Contains("CASYNC_INSECURE=1"));
}

TEST_CASE("group: short tokens are stretched alike, and differ") {
  CHECK(stretched("") == "");
  CHECK(stretched("12345678").size() == 32);
  CHECK(stretched("12345678") == stretched("12345678"));
  CHECK(stretched("12345678") != stretched("12345679"));
  const std::string strong(32, 'x');
  CHECK(stretched(strong) == strong);
}

TEST_CASE("group: rank 0 passes by a port that is taken, and the others find it") {
  const auto holder = listen_on(resolve({"127.0.0.1", 0})->front());
  REQUIRE(holder.is_ok());
  const std::string address = local_address(holder->get()).text();
  std::vector<GroupOptions> options = {quick_options(0, 2, nullptr), quick_options(1, 2, nullptr)};
  for (GroupOptions& each : options) {
    each.address = address;
    each.ports = 8;
  }
  require_joined(join_all(options));
}

TEST_CASE("group: a rank that comes late is waited for") {
  TemporaryDirectory directory;
  std::vector<std::unique_ptr<Store>> stores;
  auto options = options_of_all(3, stores, [&] { return make_file_store(directory.path()); });
  const Rank late = GENERATE(0, 2);
  std::vector<std::future<Joined>> joins;
  for (Rank rank = 0; rank < 3; ++rank) {
    joins.push_back(std::async(std::launch::async, [&, rank] {
      if (rank == late) std::this_thread::sleep_for(Seconds(0.5));
      return Group::join(options[static_cast<std::size_t>(rank)]);
    }));
  }
  std::vector<Joined> joined;
  for (auto& each : joins) joined.push_back(each.get());
  require_joined(joined);
}

TEST_CASE("group: a rank that does not come is named by all that did") {
  TemporaryDirectory directory;
  std::vector<std::unique_ptr<Store>> stores;
  auto options = options_of_all(4, stores, [&] { return make_file_store(directory.path()); });
  const Rank missing = GENERATE(0, 2);
  options.erase(options.begin() + missing);
  for (GroupOptions& each : options) each.timeout = Seconds(1.5);
  options.back().timeout = Seconds(20);  // it need not wait longer than the others do
  if (missing == 0) options.back().timeout = Seconds(1.5);
  const auto joined = join_all(options);
  for (const Joined& each : joined) {
    REQUIRE(!each.is_ok());
    CHECK(each.status().code() == StatusCode::kTimeout);
    CHECK_THAT(each.status().message(), Contains("rank " + std::to_string(missing) + " of 4 did not come"));
  }
}

TEST_CASE("group: two processes with one rank are told so, and everyone else too") {
  TemporaryDirectory directory;
  std::vector<std::unique_ptr<Store>> stores;
  auto options = options_of_all(4, stores, [&] { return make_file_store(directory.path()); });
  options[3].rank = 1;
  const auto joined = join_all(options);
  for (const Joined& each : joined) {
    REQUIRE(!each.is_ok());
    CHECK(each.status().code() == StatusCode::kInvalidArgument);
    CHECK_THAT(each.status().message(), Contains("two processes have rank 1: pid " + std::to_string(getpid())));
  }
}

TEST_CASE("group: two processes with rank 0 are told so, and who follows either") {
  TemporaryDirectory directory;
  std::vector<std::unique_ptr<Store>> stores;
  auto options = options_of_all(4, stores, [&] { return make_file_store(directory.path()); });
  options[3].rank = 0;
  const auto joined = join_all(options);
  for (const Joined& each : joined) {
    REQUIRE(!each.is_ok());
    CHECK_THAT(each.status().text(), Contains("InvalidArgument: two processes have rank 0"));
  }
}

TEST_CASE("group: ranks that disagree on the world's size are told both sizes") {
  TemporaryDirectory directory;
  std::vector<std::unique_ptr<Store>> stores;
  auto options = options_of_all(3, stores, [&] { return make_file_store(directory.path()); });
  options[2].ranks = 5;
  const auto joined = join_all(options);
  for (const Joined& each : joined) {
    REQUIRE(!each.is_ok());
    CHECK(each.status().code() == StatusCode::kInvalidArgument);
    CHECK_THAT(each.status().message(), Contains("says 3") && Contains("says 5") && Contains("rank 2"));
  }
}

TEST_CASE("group: a wrong token keeps a rank out, and rank 0 says what it saw") {
  auto options = std::vector<GroupOptions>{quick_options(0, 2, nullptr), quick_options(1, 2, nullptr)};
  const std::string address = "127.0.0.1:" + std::to_string(free_port("127.0.0.1"));
  for (GroupOptions& each : options) {
    each.address = address;
    each.token = "token of rank " + std::to_string(each.rank);
    each.timeout = Seconds(6);
  }
  const auto joined = join_all(options);
  REQUIRE(!joined[1].is_ok());
  CHECK(joined[1].status().code() == StatusCode::kUnavailable);
  CHECK_THAT(joined[1].status().message(), Contains("wrong token") && Contains("CASYNC_TOKEN"));
  REQUIRE(!joined[0].is_ok());
  CHECK(joined[0].status().code() == StatusCode::kTimeout);
  CHECK_THAT(joined[0].status().message(), Contains("rank 1 of 2 did not come") && Contains("wrong token"));
  CHECK_THAT(joined[0].status().message(), !Contains("token of rank"));
}

TEST_CASE("group: impossible options and addresses are refused with what is wrong") {
  GroupOptions options = quick_options(2, 2, nullptr);
  CHECK_THAT(Group::join(options).status().message(), Contains("rank 2 of 2"));
  options.rank = 0;
  CHECK_THAT(Group::join(options).status().message(), Contains("neither an address nor a store"));
  options.address = "no-such-host.invalid:1234";
  CHECK_THAT(Group::join(options).status().message(), Contains("no-such-host.invalid"));
  options.address = "192.0.2.7:1234";
  CHECK_THAT(Group::join(options).status().message(), Contains("rank 0 must run there"));
  options.address = "nonsense";
  CHECK_THAT(Group::join(options).status().message(), Contains("\"nonsense\" is no address"));
  SharedMap map;
  const auto store = make_callback_store(map.functions());
  options = quick_options(0, 2, store.get());
  options.interface_name = "nonet0";
  CHECK_THAT(Group::join(options).status().message(), Contains("nonet0") && Contains("there are: ") && Contains("lo"));
}

TEST_CASE("group: a name of rank 0's host that nobody knows yet is waited for as rank 0 is") {
  GroupOptions options = quick_options(1, 2, nullptr);
  options.address = "no-such-host.invalid:1234";
  options.timeout = Seconds(1);
  const Status late = Group::join(options).status();
  CHECK(late.code() == StatusCode::kTimeout);
  CHECK_THAT(late.message(), Contains("rank 0 of 2 did not come within") && Contains("no-such-host.invalid"));
}

TEST_CASE("group: a list of interfaces without names chooses none, as an empty one") {
  SharedMap map;
  const auto store = make_callback_store(map.functions());
  GroupOptions options = quick_options(0, 2, store.get());
  options.interface_name = " , ";
  const Result<OpenDoor> door = open_door(options);
  REQUIRE(door.status().text() == "OK");
  CHECK_FALSE(door->published.empty());
}

TEST_CASE("group: the entry of a dead job in the store misleads nobody") {
  TemporaryDirectory directory;
  const auto stale = make_file_store(directory.path());
  auto nobody = resolve({"127.0.0.1", 1});
  REQUIRE(nobody.is_ok());
  REQUIRE(publish(*stale, {*nobody, "the token of an earlier job"}).is_ok());
  std::vector<std::unique_ptr<Store>> stores;
  auto options = options_of_all(2, stores, [&] { return make_file_store(directory.path()); });
  auto member = std::async(std::launch::async, [&] { return Group::join(options[1]); });
  std::this_thread::sleep_for(Seconds(0.2));
  const Joined hub = Group::join(options[0]);
  const Joined other = member.get();
  CHECK(hub.status().text() == "OK");
  CHECK(other.status().text() == "OK");
}

TEST_CASE("group: a port that is still taken is waited for") {
  auto address = resolve({"127.0.0.1", 0});
  REQUIRE(address.is_ok());
  auto holder = listen_on(address->front());
  REQUIRE(holder.is_ok());
  int error = 0;
  CHECK_FALSE(listen_on(local_address(holder->get()), &error).is_ok());
  CHECK(error == EADDRINUSE);
  GroupOptions options = quick_options(0, 2, nullptr);
  options.address = local_address(holder->get()).text();
  auto door = std::async(std::launch::async, [&] { return open_door(options).status().text(); });
  std::this_thread::sleep_for(Seconds(0.3));
  holder->reset();
  CHECK(door.get() == "OK");
}

TEST_CASE("group: without a token, the log says once a join how little stands in for it") {
  std::ostringstream text;
  const auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(text);
  const auto level = log().level();
  log().set_level(spdlog::level::info);
  log().sinks().push_back(sink);
  GroupOptions options = quick_options(1, 2, nullptr);
  options.address = "127.0.0.1:9";  // nobody there: tried again and again
  options.timeout = Seconds(0.5);
  CHECK(Group::join(options).status().code() == StatusCode::kTimeout);
  log().sinks().pop_back();
  log().set_level(level);
  const std::string said = text.str();
  const std::size_t first = said.find("no token");
  REQUIRE(first != std::string::npos);
  CHECK(said.find("no token", first + 1) == std::string::npos);
}
