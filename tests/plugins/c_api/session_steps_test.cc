// SPDX-License-Identifier: Apache-2.0
// The data that a step exchanges, and the end of its submissions.
#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "plugins/c_api/casync.h"
#include "tests/environment/scoped_variable.h"
#include "tests/plugins/c_api/session_support.h"
#include "tests/support/temporary_directory.h"

using casync::ScopedVariable;
using casync::test::last_error;
using casync::test::Session;
using casync::test::TemporaryDirectory;

namespace {

/// A session of one rank by a plan.
class Planned {
 public:
  explicit Planned(const std::string& plan) { std::ofstream(path()) << "version: 1\n" << plan << "\n"; }

  Session open() const {
    const ScopedVariable variable("CASYNC_PLAN", path().c_str());
    return Session(nullptr);
  }

 private:
  std::string path() const { return folder_.path() + "/plan.txtpb"; }

  TemporaryDirectory folder_;
};

int32_t exchanged(const Session& session) {
  int32_t now = -1;
  REQUIRE(casync_session_exchanged(session.handle, &now) == CASYNC_OK);
  return now;
}

/// Submits the only gradient of this rank, one of two, and nothing more. Returns the text of its wait.
casync_status submit_one(int32_t rank, const std::string& rendezvous, std::string& said) {
  casync_session_options options;
  std::memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.rank = rank;
  options.size = 2;
  options.rendezvous = rendezvous.c_str();
  options.codec = "none";
  options.transport = "loopback";
  options.timeout_s = 60;
  casync_session* session = nullptr;
  const int64_t elements = 4;
  const std::size_t bytes = 16;
  std::vector<float> values(4);
  void* data = values.data();
  uint32_t id = 0;
  casync_handle handle = 0;
  casync_status status = casync_session_open(&options, &session);
  const auto next = [&](auto call) {
    if (status == CASYNC_OK) status = call();
  };
  next([&] {
    return casync_session_declare(session, rank == 0 ? "left" : "right", CASYNC_FLOAT32, &elements, 1, 0, &id);
  });
  next([&] { return casync_session_submit(session, 1, &id, &data, &bytes, &handle); });
  next([&] { return casync_session_end_submissions(session); });
  next([&] { return casync_session_wait(session, handle, -1); });
  said = last_error();
  casync_session_free(session);
  return status;
}

}  // namespace

TEST_CASE("c session: each step says what it exchanges, by the plan") {
  const Session plain("none");
  CHECK(exchanged(plain) == CASYNC_GRADIENTS);
  CHECK(casync_session_exchanged(plain.handle, nullptr) == CASYNC_INVALID_ARGUMENT);
  CHECK(last_error() == "`exchanged` is NULL");
  const Planned local("local_sgd { every: 2 }");
  const Session session = local.open();
  for (int i = 0; i < 2; ++i) {
    int32_t finite = 0;
    CHECK(exchanged(session) == CASYNC_NOTHING);
    REQUIRE(casync_session_step(session.handle, &finite, nullptr, 0) == CASYNC_OK);
    CHECK(exchanged(session) == CASYNC_DIFFERENCES);
    REQUIRE(casync_session_step(session.handle, &finite, nullptr, 0) == CASYNC_OK);
  }
}

TEST_CASE("c session: a consensus makes one step exchange parameters, with a plan that lets ranks differ") {
  const Planned asynchronous("asynchronous { }");
  const Session session = asynchronous.open();
  const uint32_t id = session.declare("w", 100);
  std::vector<float> values(100, 1.5f);
  CHECK(exchanged(session) == CASYNC_GRADIENTS);
  CHECK(session.reduce(id, &values));
  REQUIRE(casync_session_begin_consensus(session.handle) == CASYNC_OK);
  CHECK(exchanged(session) == CASYNC_PARAMETERS);
  values.assign(100, 2.5f);
  CHECK(session.reduce(id, &values));
  CHECK(values == std::vector<float>(100, 2.5f));
  CHECK(exchanged(session) == CASYNC_GRADIENTS);
  const Session plain("none");
  CHECK(casync_session_begin_consensus(plain.handle) == CASYNC_INVALID_ARGUMENT);
  CHECK(last_error().starts_with("a consensus is for a plan with gossip or asynchronous"));
}

TEST_CASE("c session: a trace says in which mode its steps were") {
  struct Case {
    const char *plan, *mode;
    int staleness;
  };
  for (const Case& one :
       {Case{"", "", 0}, Case{"staleness: 2", "", 2}, Case{"local_sgd { every: 4 }", "local_sgd", 0},
        Case{"gossip { neighbours: ring }", "gossip", 0}, Case{"asynchronous { }", "asynchronous", 0}}) {
    CAPTURE(one.plan);
    const TemporaryDirectory folder;
    const ScopedVariable variable("CASYNC_TRACE", folder.path().c_str());
    const Session session = Planned(one.plan).open();
    REQUIRE(casync_session_close(session.handle) == CASYNC_OK);
    std::ifstream file(folder.path() + "/rank0.trace.json");
    const nlohmann::json header = nlohmann::json::parse(file).at("casync");
    CHECK(header.at("mode") == one.mode);
    CHECK(header.at("staleness") == one.staleness);
  }
}

TEST_CASE("c session: a second close returns the status of the first") {
  const Planned grouped("group { name: \"g\" gradient: \"a\" gradient: \"b\" }");
  const Session session = grouped.open();
  const uint32_t id = session.declare("a", 2);
  session.declare("b", 2);
  std::vector<float> values(2);
  void* data = values.data();
  const std::size_t bytes = 8;
  casync_handle submission = 0;
  REQUIRE(casync_session_submit(session.handle, 1, &id, &data, &bytes, &submission) == CASYNC_OK);
  for (int i = 0; i < 2; ++i) {
    CHECK(casync_session_close(session.handle) == CASYNC_ABORTED);
    CHECK(last_error().starts_with("the session was closed in step 0: group `g` has not been submitted"));
  }
}

TEST_CASE("c session: ranks that have ended their submissions learn at once that their gradients differ in name") {
  const TemporaryDirectory folder;
  const std::string rendezvous = "file:" + folder.path();
  casync_status heard[2] = {};
  std::string said[2];
  std::thread other([&] { heard[1] = submit_one(1, rendezvous, said[1]); });
  heard[0] = submit_one(0, rendezvous, said[0]);
  other.join();
  for (const int rank : {0, 1}) {
    INFO("rank " << rank << ": " << said[rank]);
    CHECK(heard[rank] == CASYNC_INVALID_ARGUMENT);
    CHECK(said[rank].starts_with("the ranks do not agree: gradient "));
  }
}
