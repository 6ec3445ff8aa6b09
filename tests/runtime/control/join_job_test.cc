// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/join_job.h"

#include <sched.h>

#include <catch2/catch.hpp>
#include <future>
#include <string>

#include "base/processors.h"
#include "tests/environment/scoped_variable.h"
#include "tests/runtime/control/control_support.h"

namespace casync::runtime {

TEST_CASE("join job: ranks have the same name for their processors if they are on one machine, and bound alike") {
  Launch first, second;
  second.rank = 1;
  first.ranks = second.ranks = 2;
  CHECK(processors_name(first) == processors_name(second));
  second.node = "another";  // by name only: the machine is the same
  CHECK(processors_name(first) == processors_name(second));

  const std::string unbound = processors_name(first);
  const std::vector<int> all = usable_processors();
  cpu_set_t before, one;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  CPU_ZERO(&one);
  CPU_SET(all.back(), &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK((processors_name(first) == unbound) == (all.size() == 1));
  REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
}

TEST_CASE("join job: CASYNC_HEARTBEAT_SEC and CASYNC_DEAD_SEC say how often ranks beat, and when silence is death") {
  const ScopedVariable beat("CASYNC_HEARTBEAT_SEC", "0.25");
  const Result<Pulse> one = read_pulse();
  REQUIRE(one.status().text() == "OK");
  CHECK(one->beat.count() == 0.25);
  CHECK(one->dead.count() == Pulse().dead.count());
  const ScopedVariable dead("CASYNC_DEAD_SEC", "7");
  const Result<Pulse> both = read_pulse();
  REQUIRE(both.status().text() == "OK");
  CHECK(both->beat.count() == 0.25);
  CHECK(both->dead.count() == 7);
  const ScopedVariable never("CASYNC_HEARTBEAT_SEC", "never");
  CHECK_THAT(read_pulse().status().text(), Catch::StartsWith("InvalidArgument: CASYNC_HEARTBEAT_SEC=never: expected "));
}

TEST_CASE("join job: CASYNC_INTERFACE without a name is as if unset") {
  Launch launch;
  launch.ranks = 2;
  for (const char* value : {"", ",", " , "}) {
    CAPTURE(value);
    const ScopedVariable none("CASYNC_INTERFACE", value);
    CHECK(interface_for(launch, 2) == "lo");
    CHECK(interface_for(launch, 1) == "");
  }
  const ScopedVariable two("CASYNC_INTERFACE", "eth0,eth1");
  CHECK(interface_for(launch, 2) == "eth0,eth1");
}

TEST_CASE("join job: CASYNC_INSECURE=1 lets ranks without a token meet at an address, which is refused otherwise") {
  Launch first, second;
  first.ranks = second.ranks = first.local_ranks = second.local_ranks = 2;
  second.rank = second.local_rank = 1;
  first.rendezvous = second.rendezvous = "127.0.0.1:" + std::to_string(testing::free_port("127.0.0.1"));
  const auto join = [](const Launch& launch) { return join_job(launch, {}, Seconds(20)); };
  CHECK_THAT(join(second).status().text(), Catch::StartsWith("InvalidArgument: no token: "));
  {
    const ScopedVariable refused("CASYNC_INSECURE", "0");
    CHECK_THAT(join(second).status().text(), Catch::StartsWith("InvalidArgument: no token: "));
  }
  const ScopedVariable taken("CASYNC_INSECURE", "1");
  std::future<testing::Joined> other = std::async(std::launch::async, [&] { return join(first); });
  const testing::Joined own = join(second);
  CHECK(own.status().text() == "OK");
  CHECK(other.get().status().text() == "OK");
}

}  // namespace casync::runtime
