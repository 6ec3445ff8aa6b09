// SPDX-License-Identifier: Apache-2.0
//
// Submissions that tell the program when they are done.
#include "runtime/session/completions.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <condition_variable>
#include <fstream>
#include <future>
#include <mutex>
#include <new>

#include "base/allocation_count.h"
#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/lone_session.h"
#include "tests/support/ranks.h"

using namespace casync;        // NOLINT(google-build-using-namespace)
using namespace casync::test;  // NOLINT(google-build-using-namespace)

namespace {

/// A session whose waits throw so many times, and then fail with the reason of the abort.
class ThrowingSession final : public LoneSession {
 public:
  explicit ThrowingSession(int times) : left_(times) {}

  Status wait_any(std::span<const Handle>, Clock::time_point, const std::atomic<bool>&, std::vector<Handle>*) override {
    if (left_-- > 0) throw std::bad_alloc();
    return aborted(reason_);
  }
  void abort(const std::string& reason) override { reason_ = reason; }
  const std::string& reason() const { return reason_; }

 private:
  int left_;
  std::string reason_;
};

/// A session whose waits fail once they are let go.
class WaitingSession final : public LoneSession {
 public:
  Status wait_any(std::span<const Handle>, Clock::time_point, const std::atomic<bool>&, std::vector<Handle>*) override {
    waits_ = true;
    waits_.notify_all();
    go_on_.wait(false);
    return aborted("let go");
  }
  void until_it_waits() const { waits_.wait(false); }
  void let_go() {
    go_on_ = true;
    go_on_.notify_all();
  }

 private:
  std::atomic<bool> waits_{false}, go_on_{false};
};

/// A session in which the first handle is done at once, and the others fail once they are let go.
class FirstDone final : public LoneSession {
 public:
  static constexpr Handle kFirst{1};

  Status wait_any(std::span<const Handle> handles, Clock::time_point, const std::atomic<bool>&,
                  std::vector<Handle>* done) override {
    done->clear();
    if (handles.front() == kFirst) {
      done->push_back(kFirst);
      return Status::ok();
    }
    go_on_.wait(false);
    return aborted("let go");
  }
  void let_go() {
    go_on_ = true;
    go_on_.notify_all();
  }

 private:
  std::atomic<bool> go_on_{false};
};

/// A session whose waits hear of the one gradient that is done only when they are interrupted, until it is closed.
class HearsLate final : public LoneSession {
 public:
  static constexpr Handle kDone{1};

  Status wait_any(std::span<const Handle> handles, Clock::time_point, const std::atomic<bool>& interrupted,
                  std::vector<Handle>* done) override {
    done->clear();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return interrupted.load() || closed_; });
    if (closed_) return aborted("closed");
    for (const Handle handle : handles) {
      if (handle == kDone) done->push_back(handle);
    }
    return Status::ok();
  }
  void nudge() override {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
  Status close() override {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
    return Status::ok();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
};

/// Submits one gradient; the future holds what its completion was given.
std::future<Status> start(Session& session, Completions& completions, GradientId id, std::vector<float>& values) {
  auto told = std::make_shared<std::promise<Status>>();
  if (const Status status = completions.prepare(1); !status) {
    told->set_value(status);
    return told->get_future();
  }
  const Submission one{id, view_of(values)};
  const Result<std::vector<Handle>> handles = session.submit({&one, 1});
  if (handles) {
    completions.add((*handles)[0], [told](Handle, const Status& status) { told->set_value(status); });
  } else {
    told->set_value(handles.status());
  }
  return told->get_future();
}

}  // namespace

TEST_CASE("completions: one that is done is told while another, submitted earlier, is under way") {
  std::promise<void> second_done;
  std::shared_future<void> go_on = second_done.get_future().share();
  const std::string complaints = with_sessions(2, codec("none"), [&](Session& session, RankContext& context) {
    Completions completions(session);
    const Result<GradientId> a = declare(session, "a", 100), b = declare(session, "b", 100);
    std::vector<float> first = contribution(context.rank, 100, 1), second = contribution(context.rank, 100, 2);
    std::future<Status> of_first, of_second;
    if (context.rank == 0) {
      of_first = start(session, completions, *a, first);
      of_second = start(session, completions, *b, second);
      if (!of_second.get()) return std::string("the second failed");
      if (of_first.wait_for(std::chrono::seconds(0)) == std::future_status::ready) return std::string("too early");
      second_done.set_value();
    } else {
      of_second = start(session, completions, *b, second);
      go_on.wait();  // rank 0 has been told of the second one
      of_first = start(session, completions, *a, first);
      if (!of_second.get()) return std::string("the second failed");
    }
    if (!of_first.get()) return std::string("the first failed");
    if (first != average(2, 100, 1) || second != average(2, 100, 2)) return std::string("wrong averages");
    return session.step() ? std::string() : std::string("no end of the step");
  });
  CHECK(complaints == "");
}

TEST_CASE("completions: each is called once a step, on many steps, and drain() waits for them") {
  const std::string complaints = with_sessions(2, codec("int8"), [&](Session& session, RankContext& context) {
    constexpr std::size_t kGradients = 20;
    Completions completions(session);
    std::vector<GradientId> ids;
    for (std::size_t i = 0; i < kGradients; ++i) ids.push_back(*declare(session, "g" + std::to_string(i), 64));
    std::atomic<int> calls{0}, failures{0};
    for (int step = 0; step < 50; ++step) {
      std::vector<std::vector<float>> values(kGradients, contribution(context.rank, 64, 5));
      std::vector<Submission> submissions;
      for (std::size_t i = 0; i < kGradients; ++i) submissions.push_back({ids[i], view_of(values[i])});
      if (!completions.prepare(kGradients)) return std::string("no room");
      const Result<std::vector<Handle>> handles = session.submit(submissions);
      if (!handles) return handles.status().text();
      for (const Handle handle : *handles) {
        completions.add(handle, [&](Handle, const Status& status) {
          ++calls;
          if (!status) ++failures;
        });
      }
      if (const auto ended = session.step(); !ended) return ended.status().text();
      if (!completions.drain(after(Seconds(20)))) return std::string("not drained");
      if (calls != static_cast<int>(kGradients) * (step + 1)) return "calls: " + std::to_string(calls);
    }
    return failures == 0 ? std::string() : std::string("some failed");
  });
  CHECK(complaints == "");
}

TEST_CASE("completions: one that does not return ends the waits for it at their deadlines") {
  const std::string complaints = with_sessions(1, codec("none"), [&](Session& session, RankContext&) {
    Completions completions(session);
    std::promise<void> let_go;
    const Result<GradientId> id = declare(session, "weight", 100);
    std::vector<float> values(100, 1.0f);
    const Submission one{*id, view_of(values)};
    if (!completions.prepare(1)) return std::string("no room");
    const Result<std::vector<Handle>> handles = session.submit({&one, 1});
    if (!handles) return handles.status().text();
    completions.add((*handles)[0], [&](Handle, const Status&) { let_go.get_future().wait(); });
    const Status drained = completions.drain(after(Seconds(0.2)));
    if (drained.code() != StatusCode::kTimeout) return "drained: " + drained.text();
    if (completions.close(after(Seconds(0.2)))) return std::string("closed, with its thread under way");
    let_go.set_value();
    if (!completions.drain(after(Seconds(20)))) return std::string("not drained");
    if (!completions.close(after(Seconds(20)))) return std::string("not closed");
    return session.step() ? std::string() : std::string("no end of the step");
  });
  CHECK(complaints == "");
}

TEST_CASE("completions: threads that close at once all hear of the end") {
  WaitingSession session;
  Completions completions(session);
  REQUIRE(completions.prepare(1).is_ok());
  completions.add(Handle{}, [](Handle, const Status&) {});
  const auto close = [&] { return completions.close(after(Seconds(20))); };
  std::future<bool> one = std::async(std::launch::async, close), other = std::async(std::launch::async, close);
  session.let_go();
  CHECK(one.get());
  CHECK(other.get());
  CHECK(completions.close(after(Seconds(0))));
}

TEST_CASE("completions: drain() waits for those that were added, and not for later ones") {
  FirstDone session;
  Completions completions(session);
  std::atomic<int> told{0};
  const auto count = [&](Handle, const Status&) { ++told; };
  REQUIRE(completions.prepare(2).is_ok());
  completions.add(FirstDone::kFirst, count);
  const std::uint64_t first = completions.added();
  CHECK(first == 1);
  completions.add(Handle{2}, count);  // of the next step, whose gradients others have not submitted
  CHECK(completions.drain(first, after(Seconds(20))).is_ok());
  CHECK(told == 1);
  CHECK(completions.drain(after(Seconds(0))).code() == StatusCode::kTimeout);
  session.let_go();
  CHECK(completions.drain(after(Seconds(20))).is_ok());
  CHECK(told == 2);
}

TEST_CASE("completions: catch_up() waits for those whose gradients are done, and not for others") {
  HearsLate session;
  Completions completions(session);
  std::promise<bool> caught_up_there;
  std::promise<void> let_go;
  std::atomic<bool> done_told{false}, other_told{false};
  CHECK(completions.catch_up(after(Seconds(0))).is_ok());  // there are none
  REQUIRE(completions.prepare(2).is_ok());
  completions.add(Handle{2}, [&](Handle, const Status&) { other_told = true; });
  CHECK(completions.catch_up(after(Seconds(20))).is_ok());
  completions.add(HearsLate::kDone, [&](Handle, const Status& status) {
    done_told = status.is_ok();
    caught_up_there.set_value(completions.catch_up(after(Seconds(20))).is_ok());
    let_go.get_future().wait();
  });
  std::future<Status> caught_up =
      std::async(std::launch::async, [&] { return completions.catch_up(after(Seconds(60))); });
  CHECK(caught_up_there.get_future().get());                                        // at once
  CHECK(completions.catch_up(after(Seconds(0.1))).code() == StatusCode::kTimeout);  // it has not returned
  let_go.set_value();
  CHECK(caught_up.get().is_ok());
  CHECK(completions.catch_up(after(Seconds(20))).is_ok());
  CHECK(done_told);
  CHECK_FALSE(other_told);
  CHECK(session.close().is_ok());
  CHECK(completions.drain(after(Seconds(20))).is_ok());
  CHECK(other_told);
}

TEST_CASE("completions: a job that ends tells each of them why") {
  const std::string complaints = with_sessions(2, codec("none"), [&](Session& session, RankContext& context) {
    Completions completions(session);
    const Result<GradientId> id = declare(session, "weight", 100);
    std::vector<float> values(100, 1.0f);
    if (context.rank == 1) {
      if (!session.submit({}, {})) return std::string("no comparison");
      session.abort("enough");
      return std::string();
    }
    const Status status = start(session, completions, *id, values).get();
    const bool named = status.message().find("rank 1 aborted the job: enough") != std::string::npos;
    return named ? std::string() : "told: " + status.text();
  });
  CHECK(complaints == "");
}

TEST_CASE("completions: one that is late ends the job in the session's time, and says who is missing") {
  const std::string complaints = run_ranks(2, [&](RankContext& context) -> std::string {
    context.options.codec = CodecChoice{"none", {}};
    context.options.timeout_s = 2;
    Result<std::unique_ptr<Session>> session = Session::open(context.options);
    if (!session) return session.status().text();
    const Result<GradientId> id = declare(**session, "weight", 100);
    std::vector<float> values(100, 1.0f);
    if (context.rank == 1) {
      if (!(*session)->submit({}, {})) return "no comparison";
      while ((*session)->submit({}, {})) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      return "";
    }
    Completions completions(**session);
    const Status status = start(**session, completions, *id, values).get();
    const bool named = status.code() == StatusCode::kTimeout && status.message().find("weight") != std::string::npos;
    return named ? "" : "told: " + status.text();
  });
  CHECK(complaints == "");
}

TEST_CASE("completions: a delayed session tells at once what it has, and later what it reduces") {
  TemporaryDirectory folder;
  const std::string plan = folder.path() + "/plan.txtpb";
  std::ofstream(plan) << "version: 1\nstaleness: 1\ndefault { codec { name: \"none\" } }\n";
  const std::string complaints = with_sessions(
      2, [&](SessionOptions& options) { options.plan_file = plan; },
      [&](Session& session, RankContext& context) -> std::string {
        Completions completions(session);
        const Result<GradientId> id = declare(session, "weight", 100);
        std::vector<float> before(100, 0.0f);
        for (std::uint32_t step = 1; step < 5; ++step) {
          std::vector<float> values = contribution(context.rank, 100, step);
          if (const Status status = start(session, completions, *id, values).get(); !status) return status.text();
          if (values != before) return "step " + std::to_string(step) + " got another result";
          before = average(2, 100, step);
          if (const auto ended = session.step(); !ended) return ended.status().text();
        }
        return "";
      });
  CHECK(complaints == "");
}

TEST_CASE("completions: an exception on their thread ends the job, and each of them is told") {
  for (const int times : {1, 1000}) {
    CAPTURE(times);
    ThrowingSession session(times);
    Completions completions(session);
    std::vector<float> values(100, 1.0f);
    for (int i = 0; i < 3; ++i) {
      std::future<Status> told = start(session, completions, GradientId{}, values);
      REQUIRE(told.wait_for(std::chrono::seconds(20)) == std::future_status::ready);
      const Status status = told.get();
      CHECK(status.code() == (times == 1 ? StatusCode::kAborted : StatusCode::kInternal));
      CHECK_THAT(status.message(), Catch::Contains(times == 1 ? "std::bad_alloc" : "no memory is left"));
    }
    CHECK_THAT(session.reason(), Catch::Contains("the thread of completions met an exception: std::bad_alloc"));
    CHECK(completions.drain(after(Seconds(20))).is_ok());
  }
}

TEST_CASE("completions: two calls that prepare ahead of both submissions have room of their own") {
  constexpr std::size_t kEach = 20;
  WaitingSession session;
  Completions completions(session);
  std::atomic<std::size_t> told{0};
  const auto add = [&] { completions.add(Handle{}, [&](Handle, const Status&) { ++told; }); };
  REQUIRE(completions.prepare(1).is_ok());
  add();
  session.until_it_waits();  // from here on nothing is taken
  REQUIRE(completions.prepare(kEach).is_ok());
  REQUIRE(completions.prepare(kEach).is_ok());
  REQUIRE(completions.prepare(kEach).is_ok());
  completions.forget(kEach);
  const std::uint64_t before = allocations_of_this_thread();
  for (std::size_t i = 0; i < 2 * kEach; ++i) add();
  const std::uint64_t allocated = allocations_of_this_thread() - before;
  CHECK(allocated == 0);
  session.let_go();
  CHECK(completions.drain(after(Seconds(20))).is_ok());
  CHECK(told == 2 * kEach + 1);
}

TEST_CASE("completions: a forked child lets go of them while their thread waits") {
  const std::string complaints = with_sessions(1, codec("none"), [](Session& session, RankContext&) -> std::string {
    Completions completions(session);
    if (const Status status = completions.prepare(1); !status) return status.text();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // until the thread waits, which nothing shows
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // a child that hangs is a failure of this test, not of the machine
      completions.~Completions();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? "" : "the child ended with " + std::to_string(status);
  });
  CHECK(complaints == "");
}
