// SPDX-License-Identifier: Apache-2.0
//
// Ends of sessions: closing early, late, in the middle, and in a process that they were not opened in.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>

#include "base/log.h"
#include "runtime/session/session.h"
#include "tests/environment/scoped_variable.h"
#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/plan_file.h"
#include "tests/runtime/session/wrapped_transport.h"
#include "tests/support/ranks.h"

using namespace casync;        // NOLINT(google-build-using-namespace)
using namespace casync::test;  // NOLINT(google-build-using-namespace)

namespace {

/// Calls a function for each line of the log, on the thread that logs it.
class Listener final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit Listener(std::function<void()> heard) : heard_(std::move(heard)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg&) override { heard_(); }
  void flush_() override {}

 private:
  const std::function<void()> heard_;
};

}  // namespace

TEST_CASE("session close: in the middle of a step nothing touches the gradient once its waiter has been told") {
  constexpr std::size_t kElements = 8 << 20;
  const ScopedVariable threads("CASYNC_THREADS", "2");
  int in_the_middle = 0;
  for (int round = 0; round < 4 || (in_the_middle == 0 && round < 100); ++round) {
    std::atomic<int> late_calls = 0;
    std::string waited;
    const std::string complaints = run_ranks(1, [&](RankContext& context) -> std::string {
      context.options.codec = CodecChoice{"onebit", {}};
      context.options.open_transport = open_wrapped({.late_calls = &late_calls});
      Result<std::unique_ptr<Session>> session = Session::open(context.options);
      if (!session) return session.status().text();
      const Result<GradientId> id = declare(**session, "weight", kElements);
      void* const memory = mmap(nullptr, kElements * 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      const Submission one{*id, {static_cast<std::byte*>(memory), kElements * 4}};
      const Result<std::vector<Handle>> handles = (*session)->submit({&one, 1});
      if (!handles) return handles.status().text();
      std::thread waiter([&] {
        waited = (*session)->wait((*handles)[0], -1).text();
        munmap(memory, kElements * 4);  // any use of it now ends the process
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(round % 4));
      const Status closed = (*session)->close();
      waiter.join();
      if (waited == "OK") return "";  // it was faster
      if (waited != "Aborted: the session was closed") return "the waiter heard: " + waited;
      ++in_the_middle;
      const std::string text = closed.text();
      return text == "Aborted: the session was closed while 1 gradients were under way" ? "" : "close: " + text;
    });
    CHECK(complaints == "");
    CHECK(late_calls == 0);
  }
  CHECK(in_the_middle > 0);
}

TEST_CASE("session close: a rank that is busy for longer than a goodbye takes fails nobody") {
  const std::string complaints = run_ranks(3, [](RankContext& context) -> std::string {
    Result<std::unique_ptr<Session>> session = Session::open(context.options);
    if (!session) return session.status().text();
    const Result<GradientId> id = declare(**session, "weight", 100);
    std::vector<float> values(100);
    if (std::string bad = reduce(**session, *id, values); !bad.empty()) return bad;
    if (!(*session)->step()) return "step";
    if (context.rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(6500));  // writes a checkpoint
    const Status closed = (*session)->close();
    return closed.is_ok() ? "" : closed.text();
  });
  CHECK(complaints == "");
}

TEST_CASE("session close: a poll while another thread closes gets an answer") {
  const std::string complaints = run_ranks(2, [](RankContext& context) -> std::string {
    Result<std::unique_ptr<Session>> session = Session::open(context.options);
    if (!session) return session.status().text();
    const Result<GradientId> id = declare(**session, "weight", 1000);
    std::vector<float> values(1000);
    if (std::string bad = reduce(**session, *id, values); !bad.empty()) return bad;
    if (!(*session)->step()) return "step";
    if (context.rank == 1) return "";
    const Submission one{*id, view_of(values)};
    const Result<std::vector<Handle>> handles = (*session)->submit({&one, 1});
    if (!handles) return handles.status().code() == StatusCode::kPeerFailure ? "" : handles.status().text();
    Status last;
    std::thread poller([&] {
      do last = (*session)->wait((*handles)[0], 0.00001);
      while (last.code() == StatusCode::kTimeout);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    static_cast<void>((*session)->close());
    poller.join();
    return last.is_ok() ? "it cannot be done" : "";
  });
  CHECK(complaints == "");
}

TEST_CASE("session fork: in the child every call is Unavailable at once, and nothing is joined") {
  const std::string complaints = with_sessions(1, codec("int8"), [](Session& session, RankContext&) -> std::string {
    const Result<GradientId> id = declare(session, "weight", 1000);
    std::vector<float> values(1000, 1.0f);
    if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // a child that hangs is a failure of this test, not of the machine
      const Submission one{*id, view_of(values)};
      const auto refused = [](const Status& status) { return status.code() == StatusCode::kUnavailable; };
      bool right = refused(session.submit({&one, 1}).status()) && refused(session.wait(Handle(0), 5)) &&
                   refused(session.step().status()) && refused(session.state().status()) &&
                   refused(session.load_state({})) && refused(declare(session, "v", 3).status()) &&
                   refused(session.note_exposed(Handle(0), 1)) && !session.done(Handle(0)) &&
                   session.stats().steps == 0 && refused(session.close());
      session.abort("not mine");
      session.~Session();
      _exit(right ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return "the child ended with " + std::to_string(status);
    const Result<StepResult> done = session.step();  // the parent goes on
    return done ? "" : done.status().text();
  });
  CHECK(complaints == "");
}

TEST_CASE("session fork: the child's calls return at once even if a call of the parent was under way") {
  Session* forked = nullptr;
  int child_status = -1;
  // The remark on a plan's rule is logged while a call has the session.
  log().sinks().push_back(std::make_shared<Listener>([&] {
    if (forked == nullptr) return;
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);
      forked->end_submissions();
      forked->nudge();
      forked->abort("not mine");
      const bool right = forked->exchanged() == Exchanged::kNothing && !forked->step() && !forked->close();
      _exit(right ? 0 : 1);
    }
    waitpid(child, &child_status, 0);
  }));
  const auto body = [&](Session& session, RankContext&) -> std::string {
    const Result<GradientId> id = declare(session, "weight", 1000);
    std::vector<float> values(1000, 1.0f);
    forked = &session;
    const std::string bad = step(session, *id, values);
    forked = nullptr;
    return bad;
  };
  const std::string complaints = with_plan(1, R"(rule { match: "absent" codec { name: "int8" } })", body);
  log().sinks().pop_back();
  CHECK(complaints == "");
  CHECK(child_status == 0);
}

TEST_CASE("session close: a submission while another thread ends the step is of that step or of the next") {
  // The thread sanitizer looks on: a commit never meets a task of its own step.
  const ScopedVariable threads("CASYNC_THREADS", "2");
  const std::string complaints = with_sessions(1, codec("int4"), [](Session& session, RankContext&) -> std::string {
    constexpr std::size_t kElements = 40'000;  // large enough for a stream
    const Result<GradientId> id = declare(session, "weight", kElements);
    std::atomic<bool> over = false;
    std::string wrong;
    std::thread submitter([&] {
      std::vector<float> values = contribution(0, kElements, 1);
      for (int i = 0; i < 300 && wrong.empty(); ++i) {
        const Submission one{*id, view_of(values)};
        const Result<std::vector<Handle>> handles = session.submit({&one, 1});
        if (handles) {
          wrong = session.wait((*handles)[0], -1).is_ok() ? "" : "wait";
        } else if (handles.status().code() != StatusCode::kInvalidArgument) {  // twice in one step
          wrong = handles.status().text();
        }
      }
      over = true;
    });
    std::uint32_t steps = 0;
    while (!over) {
      const Result<StepResult> done = session.step();
      if (!done || done->step != steps++) break;
    }
    submitter.join();
    if (!wrong.empty()) return wrong;
    return steps == session.stats().steps ? "" : "steps were lost";
  });
  CHECK(complaints == "");
}
