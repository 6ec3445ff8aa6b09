// SPDX-License-Identifier: Apache-2.0
// Submissions with a completion each, and the fields of their struct.
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <future>
#include <string>
#include <vector>

#include "plugins/c_api/casync.h"
#include "tests/plugins/c_api/session_support.h"

using casync::test::comes_true;
using casync::test::last_error;
using casync::test::Session;

namespace {

/// A completion's arguments.
struct Told {
  int calls = 0;
  casync_handle handle = 0;
  casync_status status = CASYNC_INTERNAL;
  std::string message;
};

void tell(void* user, casync_handle handle, casync_status status, const char* message) {
  Told& told = *static_cast<Told*>(user);
  ++told.calls;
  told.handle = handle;
  told.status = status;
  told.message = message == nullptr ? "" : message;
}

casync_submission submission(uint32_t id, std::vector<float>* values, Told* told) {
  casync_submission one{};
  one.struct_size = sizeof one;
  one.gradient = id;
  one.data = values->data();
  one.bytes = values->size() * sizeof(float);
  one.done = told == nullptr ? nullptr : tell;
  one.user = told;
  return one;
}

}  // namespace

TEST_CASE("c session: the end of a step comes after the calls of its completions") {
  const Session session("none");
  const uint32_t ids[] = {session.declare("a", 100), session.declare("b", 100), session.declare("c", 100)};
  for (int step = 0; step < 20; ++step) {
    std::vector<float> values(100, 1.5f), others(100, 2.5f), third(100, 3.5f);
    Told a, b;
    const casync_submission submissions[] = {submission(ids[0], &values, &a), submission(ids[1], &others, &b),
                                             submission(ids[2], &third, nullptr)};
    casync_handle handles[3];
    REQUIRE(casync_session_submit_each(session.handle, 3, submissions, handles) == CASYNC_OK);
    int32_t finite = 0;
    REQUIRE(casync_session_step(session.handle, &finite, nullptr, 0) == CASYNC_OK);
    CHECK(a.calls == 1);
    CHECK(b.calls == 1);
    CHECK(a.handle == handles[0]);
    CHECK(b.handle == handles[1]);
    CHECK(a.status == CASYNC_OK);
    CHECK(a.message.empty());
    CHECK(third == std::vector<float>(100, 3.5f));
  }
}

TEST_CASE("c session: a state is loaded after the calls of the completions that are due") {
  const Session session("none");
  const uint32_t id = session.declare("a", 100);
  const std::string state = session.text(casync_session_state).dump();
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    std::vector<float> values(100, 1.5f);
    Told told;
    const casync_submission one = submission(id, &values, &told);
    casync_handle handle = 0;
    REQUIRE(casync_session_submit_each(session.handle, 1, &one, &handle) == CASYNC_OK);
    int32_t done = 0;
    REQUIRE(comes_true([&] { return casync_session_done(session.handle, handle, &done) != CASYNC_OK || done == 1; }));
    REQUIRE(done == 1);
    casync_status loaded = CASYNC_INVALID_ARGUMENT;
    REQUIRE(comes_true([&] {  // it is done a moment ahead of the step
      loaded = casync_session_state_set(session.handle, nullptr, state.c_str(), nullptr, 0, 0);
      return loaded != CASYNC_INVALID_ARGUMENT || !last_error().starts_with("a step is under way");
    }));
    INFO(last_error());
    REQUIRE(loaded == CASYNC_OK);
    CHECK(told.calls == 1);
    CHECK(told.status == CASYNC_OK);
    REQUIRE(casync_session_done(session.handle, handle, &done) == CASYNC_OK);
    CHECK(done == 0);  // forgotten
  }
}

TEST_CASE("c session: a completion may end the step, and the program may close or free the session meanwhile") {
  struct Ending {
    casync_session* session;
    casync_status ended = CASYNC_INTERNAL;
    std::atomic<bool> done{false};
  } ending{};
  {
    const Session session("none");
    ending.session = session.handle;
    std::vector<float> values(100, 1.5f);
    casync_submission one = submission(session.declare("a", 100), &values, nullptr);
    one.user = &ending;
    one.done = [](void* user, casync_handle, casync_status, const char*) {
      auto& self = *static_cast<Ending*>(user);
      int32_t finite = 0;
      self.ended = casync_session_step(self.session, &finite, nullptr, 0);
      self.done = true;
    };
    REQUIRE(casync_session_submit_each(session.handle, 1, &one, nullptr) == CASYNC_OK);
    REQUIRE(comes_true([&] { return ending.done.load(); }));
    REQUIRE(casync_session_close(session.handle) == CASYNC_OK);
  }
  CHECK(ending.ended == CASYNC_OK);
}

TEST_CASE("c session: a completion that does not return ends the step and the close at the time limit") {
  struct Stuck {
    std::promise<void> let_go;
    std::shared_future<void> go_on = let_go.get_future().share();
    std::atomic<bool> returned{false};
  } stuck;
  std::vector<float> values(100, 1.5f);
  {
    const Session session("none", 2);
    casync_submission one = submission(session.declare("a", 100), &values, nullptr);
    one.user = &stuck;
    one.done = [](void* user, casync_handle, casync_status, const char*) {
      auto& self = *static_cast<Stuck*>(user);
      self.go_on.wait();
      self.returned = true;
    };
    REQUIRE(casync_session_submit_each(session.handle, 1, &one, nullptr) == CASYNC_OK);
    int32_t finite = 0;
    CHECK(casync_session_step(session.handle, &finite, nullptr, 0) == CASYNC_TIMEOUT);
    CHECK(last_error().find("the completions of 1 submissions have not returned") == 0);
    CHECK(last_error().ends_with(" (after 2.000000 s)"));
    CHECK(casync_session_step(session.handle, &finite, nullptr, 0) == CASYNC_PEER_FAILURE);
    CHECK(last_error().find("the completions of 1 submissions") != std::string::npos);
    SECTION("closed") { CHECK(casync_session_close(session.handle) == CASYNC_TIMEOUT); }
    SECTION("freed") {}
  }
  stuck.let_go.set_value();
  CHECK(comes_true([&] { return stuck.returned.load(); }));
}

TEST_CASE("c session: freeing leaves the last error of the thread as it is") {
  casync_codec *codec = nullptr, *unknown = nullptr;
  REQUIRE(casync_codec_open("int8", nullptr, 0, &codec) == CASYNC_OK);
  {
    const Session session("none");
    REQUIRE(casync_codec_open("no such codec", nullptr, 0, &unknown) == CASYNC_INVALID_ARGUMENT);
  }
  const std::string said = last_error();
  CHECK(said.find("no such codec") != std::string::npos);
  casync_codec_free(codec);
  CHECK(last_error() == said);
}

TEST_CASE("c session: a handle that no submission gave is refused with its number") {
  const Session session("none");
  const auto refused = [](casync_status status) {
    return status == CASYNC_INVALID_ARGUMENT && last_error() == "no submission gave the handle 12345";
  };
  CHECK(refused(casync_session_wait(session.handle, 12345, 1)));
  CHECK(refused(casync_session_wait_hidden(session.handle, 12345, 1)));
  CHECK(refused(casync_session_note_exposed(session.handle, 12345, 1)));
  int32_t done = -1;
  CHECK(casync_session_done(session.handle, 12345, &done) == CASYNC_OK);
  CHECK(done == 0);
}

TEST_CASE("c session: once the job has failed, submissions that are not done say so, and others stay done") {
  const Session session("none");
  std::vector<float> values(100, 1.5f);
  const casync_submission one = submission(session.declare("a", 100), &values, nullptr);
  casync_handle handle = 0;
  REQUIRE(casync_session_submit_each(session.handle, 1, &one, &handle) == CASYNC_OK);
  REQUIRE(casync_session_wait(session.handle, handle, -1) == CASYNC_OK);
  REQUIRE(casync_session_abort(session.handle, "it is enough") == CASYNC_OK);
  int32_t done = -1;
  CHECK(casync_session_done(session.handle, 12345, &done) == CASYNC_PEER_FAILURE);
  CHECK(last_error().find("rank 0 aborted the job: it is enough") != std::string::npos);
  CHECK(done == 0);
  CHECK(casync_session_done(session.handle, handle, &done) == CASYNC_OK);
  CHECK(done == 1);
}

TEST_CASE("c session: a device, stream or event that this build cannot take is refused by its field") {
  const Session session("none");
  std::vector<float> values(100, 1.5f);
  Told told;
  const uint32_t id = session.declare("a", 100);
  const auto refused = [&](auto change, casync_status status) {
    casync_submission both[] = {submission(id, &values, &told), submission(id, &values, &told)};
    change(both[1]);
    CHECK(casync_session_submit_each(session.handle, 2, both, nullptr) == status);
    return last_error();
  };
  using One = casync_submission;
  CHECK(refused([](One& one) { one.device = CASYNC_CUDA; }, CASYNC_INVALID_ARGUMENT) ==
        "gradient a: its memory is on a device, and the session is on the CPU: open it with the device");
  CHECK(refused([](One& one) { one.device = 7; }, CASYNC_UNAVAILABLE).find("number 7") != std::string::npos);
  CHECK(refused([](One& one) { one.device_index = 2; }, CASYNC_UNAVAILABLE).find("device_index is 2") !=
        std::string::npos);
  CHECK(refused([&](One& one) { one.stream = &told; }, CASYNC_UNAVAILABLE).find(".stream") != std::string::npos);
  CHECK(refused([&](One& one) { one.ready = &told; }, CASYNC_UNAVAILABLE).find(".ready") != std::string::npos);
  CHECK(refused([](One& one) { one.reserved = 1; }, CASYNC_INVALID_ARGUMENT).find("reserved") != std::string::npos);
  CHECK(refused([](One& one) { one.data = nullptr; }, CASYNC_INVALID_ARGUMENT).find("data is NULL") !=
        std::string::npos);
  CHECK(refused([](One& one) { one.struct_size = 8; }, CASYNC_INVALID_ARGUMENT).find("struct_size is 8") !=
        std::string::npos);
  CHECK(refused([](One&) {}, CASYNC_INVALID_ARGUMENT).find("twice in one submission") != std::string::npos);
  One unset = submission(id, &values, &told);
  unset.struct_size = std::size_t{1} << 40;  // as memory that nobody has cleared may have it
  CHECK(casync_session_submit_each(session.handle, 1, &unset, nullptr) == CASYNC_INVALID_ARGUMENT);
  CHECK(last_error().find("casync_submission.struct_size is 1099511627776, at least") == 0);
  CHECK(told.calls == 0);
}

TEST_CASE("c session: submissions of a program that was built with a larger struct are taken, if it is zero there") {
  const Session session("none");
  std::vector<float> values(100, 1.5f), others(100, 2.5f);
  struct Larger {
    casync_submission known;
    uint64_t later;
  };
  Larger both[] = {{submission(session.declare("a", 100), &values, nullptr), 0},
                   {submission(session.declare("b", 100), &others, nullptr), 0}};
  both[0].known.struct_size = both[1].known.struct_size = sizeof(Larger);
  both[1].later = 1;
  CHECK(casync_session_submit_each(session.handle, 2, &both[0].known, nullptr) == CASYNC_INVALID_ARGUMENT);
  CHECK(last_error().find("older than the program") != std::string::npos);
  both[1].later = 0;
  CHECK(casync_session_submit_each(session.handle, 2, &both[0].known, nullptr) == CASYNC_OK);
  int32_t finite = 0;
  CHECK(casync_session_step(session.handle, &finite, nullptr, 0) == CASYNC_OK);
}
