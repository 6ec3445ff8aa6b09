// SPDX-License-Identifier: Apache-2.0
//
// Callers that wait move a gradient on by themselves: with others, to a deadline, through failures and closing.
#include <atomic>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <thread>

#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/wrapped_transport.h"
#include "tests/support/ranks.h"

using namespace casync;        // NOLINT(google-build-using-namespace)
using namespace casync::test;  // NOLINT(google-build-using-namespace)

namespace {

bool on_callers_thread() {
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  return !std::string_view(name).starts_with("casync-");
}

/// Counts the rounds of rank 0's callers, and calls `then` in each.
auto count_rounds_of(
    std::atomic<int>& rounds, std::function<void()> then = [] {}) {
  return [&rounds, then](SessionOptions& options) {
    if (options.launch.rank != 0) return;
    options.open_transport = open_wrapped({.in_progress = [&rounds, then](TransportClient&) {
      if (!on_callers_thread()) return;
      ++rounds;
      then();
    }});
  };
}

void sleep_shortly() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

constexpr std::size_t kElements = 1000;

}  // namespace

TEST_CASE("session waiters: who waits for the only gradient under way moves it on") {
  constexpr int kSteps = 2000;
  std::atomic<int> rounds = 0;
  for (const char* name : {"none", "int8"}) {
    rounds = 0;
    const std::string complaints = with_sessions(
        2,
        [&](SessionOptions& options) {
          options.codec = CodecChoice{name, {}};
          count_rounds_of(rounds)(options);
        },
        [&](Session& session, RankContext& context) -> std::string {
          const Result<GradientId> id = declare(session, "weight", kElements);
          for (std::uint32_t i = 0; i < kSteps; ++i) {
            std::vector<float> values = contribution(context.rank, kElements, i % 7);
            if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
            if (name == std::string("none") && values != average(2, kElements, i % 7)) {
              return "step " + std::to_string(i) + " is wrong";
            }
          }
          return "";
        });
    INFO(name);
    CHECK(complaints == "");
    CHECK(rounds > 0);
  }
}

TEST_CASE("session waiters: several wait at a time, on each rank in another order") {
  constexpr int kCallers = 4, kSteps = 300;
  const std::string complaints = with_sessions(3, nullptr, [](Session& session, RankContext& context) -> std::string {
    std::vector<GradientId> ids;
    for (int i = 0; i < kCallers; ++i) ids.push_back(*declare(session, "g" + std::to_string(i), kElements));
    for (std::uint32_t i = 0; i < kSteps; ++i) {
      std::string wrong[kCallers];
      std::vector<std::thread> callers;
      for (int c = 0; c < kCallers; ++c) {
        callers.emplace_back([&, c] {
          const auto mine = static_cast<std::size_t>((c + context.rank) % kCallers);
          const auto salt = static_cast<std::uint32_t>(mine) + 10 * i;
          std::vector<float> values = contribution(context.rank, kElements, salt);
          wrong[c] = reduce(session, ids[mine], values);
          if (wrong[c].empty() && values != average(3, kElements, salt)) wrong[c] = "a wrong result";
        });
      }
      for (std::thread& caller : callers) caller.join();
      for (const std::string& one : wrong) {
        if (!one.empty()) return one;
      }
      if (const Result<StepResult> done = session.step(); !done) return done.status().text();
    }
    return "";
  });
  CHECK(complaints == "");
}

namespace {

/// Waits in slices, each of which may move the gradient on, until the answer is another than Timeout, or too often.
Status wait_in_slices(Session& session, Handle handle) {
  Status status = session.wait(handle, 0.01);
  for (int i = 0; i < 2000 && status.code() == StatusCode::kTimeout; ++i) status = session.wait(handle, 0.01);
  return status;
}

/// One gradient that has been through a step on both ranks. Rank 0 submits it again and calls `wait`; rank 1 calls
/// `other` once a caller of rank 0 has moved it on.
std::string with_one_waiting(std::atomic<int>& rounds, const std::function<std::string(Session&, Handle)>& wait,
                             const std::function<std::string(Session&, GradientId)>& other) {
  std::atomic<bool> is_over = false;
  return run_ranks(2, [&](RankContext& context) -> std::string {
    count_rounds_of(rounds)(context.options);
    Result<std::unique_ptr<Session>> session = Session::open(context.options);
    if (!session) return session.status().text();
    const GradientId id = *declare(**session, "weight", kElements);
    std::vector<float> values(kElements);
    if (std::string bad = step(**session, id, values); !bad.empty()) return bad;
    if (context.rank == 1) {
      for (; rounds == 0 && !is_over; sleep_shortly()) {
      }
      return other(**session, id);
    }
    rounds = 0;
    const Submission one{id, view_of(values)};
    const Result<std::vector<Handle>> handles = (*session)->submit({&one, 1});
    std::string said = handles ? wait(**session, (*handles)[0]) : handles.status().text();
    is_over = true;
    return said;
  });
}

}  // namespace

TEST_CASE("session waiters: one that moves a gradient on keeps its deadline, and the gradient arrives later") {
  std::atomic<int> rounds = 0;
  std::atomic<bool> was_late = false;
  const std::string complaints = with_one_waiting(
      rounds,
      [&](Session& session, Handle handle) -> std::string {
        while (rounds == 0) {
          if (session.wait(handle, 0.01).code() != StatusCode::kTimeout) return "it is not late";
        }
        was_late = true;
        const Status status = session.wait(handle, -1);
        return status.is_ok() ? "" : status.text();
      },
      [&](Session& session, GradientId id) {
        for (; !was_late; sleep_shortly()) {
        }
        std::vector<float> values(kElements);
        return reduce(session, id, values);
      });
  CHECK(complaints == "");
}

TEST_CASE("session waiters: one that moves a gradient on hears of another rank's failure") {
  std::atomic<int> rounds = 0;
  std::string said;
  const std::string complaints = with_one_waiting(
      rounds,
      [&](Session& session, Handle handle) {
        said = wait_in_slices(session, handle).text();
        return std::string();
      },
      [](Session& session, GradientId) {
        session.abort("the loss went up");
        return std::string();
      });
  CHECK(complaints == "");
  CHECK(rounds > 0);
  CHECK_THAT(said, Catch::StartsWith("PeerFailure: ") && Catch::EndsWith("aborted the job: the loss went up"));
}

TEST_CASE("session waiters: a session that another thread closes is closed for one that moves a gradient on") {
  std::atomic<int> rounds = 0;
  std::string said, closed;
  std::atomic<bool> is_closed = false;
  const std::string complaints = with_one_waiting(
      rounds,
      [&](Session& session, Handle handle) {
        std::thread waiter([&] { said = wait_in_slices(session, handle).text(); });
        for (; rounds == 0; sleep_shortly()) {
        }
        closed = session.close().text();
        is_closed = true;
        waiter.join();
        return std::string();
      },
      [&](Session&, GradientId) {
        for (; !is_closed; sleep_shortly()) {
        }
        return std::string();
      });
  CHECK(complaints == "");
  CHECK_THAT(closed, Catch::StartsWith("Aborted: the session was closed while 1 gradients"));
  CHECK_THAT(said, Catch::StartsWith("Aborted: the session was closed"));
}

TEST_CASE("session waiters: an exception in a caller's round is Internal on all ranks") {
  constexpr int kMostSteps = 100000;
  std::atomic<int> rounds = 0;
  std::string said[2];
  const std::string complaints = run_ranks(2, [&](RankContext& context) -> std::string {
    count_rounds_of(rounds, [&] {
      if (rounds == 10) throw std::runtime_error("out of luck");
    })(context.options);
    Result<std::unique_ptr<Session>> session = Session::open(context.options);
    if (!session) return session.status().text();
    const GradientId id = *declare(**session, "weight", kElements);
    std::vector<float> values(kElements);
    std::string& own = said[context.rank];
    for (int i = 0; own.empty() && i < kMostSteps; ++i) own = step(**session, id, values);
    return "";
  });
  CHECK(complaints == "");
  CHECK_THAT(said[0], Catch::StartsWith("Internal: ") && Catch::EndsWith("met an exception: out of luck"));
  CHECK(said[1] == said[0]);
}

TEST_CASE("session waiters: a long task is not for one that waits, and is done all the same") {
  constexpr std::size_t kMany = 3 << 20;
  std::atomic<int> rounds = 0;
  const std::string complaints =
      with_sessions(2, count_rounds_of(rounds), [](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare(session, "weight", kMany);
        for (std::uint32_t i = 0; i < 5; ++i) {
          std::vector<float> values = contribution(context.rank, kMany, i);
          if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
          if (values != average(2, kMany, i)) return "step " + std::to_string(i) + " is wrong";
        }
        return "";
      });
  CHECK(complaints == "");
}
