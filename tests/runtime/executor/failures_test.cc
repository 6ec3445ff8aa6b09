// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/failures.h"

#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/transport/loopback/factory.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

struct Ending {
  explicit Ending(std::uint64_t epoch) {
    TransportOptions options;
    options.epoch = epoch;
    transport = std::move(make_loopback(options)).value();
    requests.emplace(*transport, waiters);
    failures.emplace(*requests, waiters, events);
  }
  std::unique_ptr<Transport> transport;
  Waiters waiters;
  ExecutorEvents events;
  std::optional<Requests> requests;
  std::optional<Failures> failures;
};

}  // namespace

TEST_CASE("failures: the owner hears of a report, may put another cause first, and hears of no second one") {
  Ending ending(700);
  std::vector<std::string> heard;
  ending.events.failed = [&](const Status& status) {
    heard.push_back(status.text());
    ending.failures->fail(peer_failure("the job's cause"));
  };
  CHECK(ending.failures->failure().is_ok());
  ending.failures->report(data_loss("seen here"));
  ending.failures->report(data_loss("a consequence"));
  CHECK(heard == std::vector<std::string>{"DataLoss: seen here"});
  CHECK(ending.failures->failing());
  ending.waiters.end({});
  CHECK(ending.failures->failure().text() == "PeerFailure: the job's cause");
}

TEST_CASE("failures: an owner that throws keeps no report from ending everything here") {
  Ending ending(701);
  ending.events.failed = [](const Status&) { throw std::runtime_error("no memory"); };
  ending.failures->report(data_loss("seen here"));
  CHECK(ending.failures->failing());
}

TEST_CASE("failures: a wait for the end is told if memory is still in use at the deadline") {
  Ending ending(702);
  ending.failures->fail(data_loss("a cause"));
  CHECK(ending.failures->wait_for_end(after(Seconds(0.01))).text() ==
        "DataLoss: a cause; a task that was begun has not ended yet: the gradients' memory is still in use");
  ending.waiters.end({});
  CHECK(ending.failures->wait_for_end(after(Seconds(60))).text() == "DataLoss: a cause");
}
