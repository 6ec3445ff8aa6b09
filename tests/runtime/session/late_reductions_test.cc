// SPDX-License-Identifier: Apache-2.0
//
// The thread that reduces the steps that have ended, and its failure.
#include "runtime/session/late_reductions.h"

#include <catch2/catch.hpp>

#include <stdexcept>
#include <utility>

#include "tests/runtime/session/late_cases.h"
#include "tests/runtime/session/lone_session.h"

using namespace casync;              // NOLINT(google-build-using-namespace)
using namespace casync::runtime;     // NOLINT(google-build-using-namespace)
using namespace casync::test;        // NOLINT(google-build-using-namespace)
using namespace casync::test::late;  // NOLINT(google-build-using-namespace)

namespace {

/// Doubles what is submitted, and fails or throws in one step.
class Doubling final : public LoneSession {
 public:
  Status submit(std::span<const Submission> submissions, std::span<Handle> handles) override {
    if (steps == throws_in) throw std::runtime_error("no memory for it");
    for (std::size_t i = 0; i < submissions.size(); ++i) {
      Values values = values_of(submissions[i]);
      for (float& value : values) value *= 2;
      std::copy(values.begin(), values.end(), reinterpret_cast<float*>(submissions[i].data.data));
    }
    return LoneSession::submit(submissions, handles);
  }
  Result<StepResult> step() override {
    if (steps == fails_in) return unavailable("the link is down");
    return StepResult{steps++, true, ""};
  }
  void abort(const std::string& reason) override { aborted_with = reason; }

  static constexpr std::uint32_t kNever = ~0u;
  std::uint32_t steps = 0, fails_in = kNever, throws_in = kNever;
  std::string aborted_with;
};

/// A program whose steps have one gradient. Its value is 1 in the first step, 2 in the second, and so on.
struct Reducing {
  explicit Reducing(std::uint32_t staleness) : steps(staleness), gradients(staleness) { gradients.add(0, "a"); }
  ~Reducing() { close(); }
  void close() {
    if (std::exchange(closed, true)) return;
    {
      std::lock_guard guard(lock.mutex);
      reductions.close();
    }
    reductions.join();
  }
  Status settle() {
    std::unique_lock held(lock.mutex);
    const Status settled = reductions.settle(held);
    CHECK(held.owns_lock());
    return settled;
  }
  void end_step() {
    std::lock_guard guard(lock.mutex);
    values = Values(2, static_cast<float>(steps.number() + 1));
    exchange(gradients.table.at(GradientId(0)), values, steps.number());
    steps.end();
    lock.changed->notify_all();
  }

  Doubling session;
  SessionLock lock;
  LateSteps steps;
  Gradients gradients;
  LateFailure failure{session};
  LateReductions reductions{session, lock, steps, gradients.table, failure};
  Values values;
  bool closed = false;
};

}  // namespace

TEST_CASE("late reductions: each step that has ended is submitted and ended in the session, in order") {
  Reducing it(2);
  for (int i = 0; i < 3; ++i) {
    REQUIRE(it.reductions.start());
    it.end_step();
    REQUIRE(it.settle());
  }
  CHECK(it.session.steps == 3);
  CHECK(it.steps.begun() == 3);
  CHECK(it.values == Values{2, 2});  // of the first step
}

TEST_CASE("late reductions: steps that have ended by the close are reduced") {
  Reducing it(2);
  it.end_step();
  it.end_step();
  REQUIRE(it.reductions.start());
  it.close();
  CHECK(it.session.steps == 2);
  CHECK(it.steps.are_all_reduced());
}

TEST_CASE("late reductions: a failure ends them, and is the program's once it has been told") {
  Reducing it(2);
  it.session.fails_in = 1;
  REQUIRE(it.reductions.start());
  it.end_step();
  it.end_step();
  CHECK(it.settle().text() == "Unavailable: the link is down");
  CHECK(it.steps.begun() == 2);
  CHECK(it.steps.reduced() == 1);
  CHECK(it.failure.is_told());
}

TEST_CASE("late reductions: an exception is a failure that ends the job") {
  Reducing it(1);
  it.session.throws_in = 0;
  REQUIRE(it.reductions.start());
  it.end_step();
  const std::string reason = "a late reduction could not begin: no memory for it";
  CHECK(it.settle().text() == "Unavailable: " + reason);
  CHECK(it.session.aborted_with == reason);
}

TEST_CASE("late failure: it is told by the first call that returns it") {
  Doubling session;
  LateFailure failure(session);
  CHECK(failure.tell(Status::ok()).is_ok());
  CHECK(failure.tell_noted().is_ok());
  CHECK_FALSE(failure.is_told());
  failure.note(unavailable("the link is down"));
  CHECK(failure.is_noted());
  CHECK_FALSE(failure.is_told());
  CHECK(failure.tell_noted().text() == "Unavailable: the link is down");
  CHECK(failure.is_told());
  LateFailure other(session);
  CHECK(other.end_with(unavailable("a device is gone")).text() == "Unavailable: a device is gone");
  CHECK(session.aborted_with == "a device is gone");
  CHECK(other.is_told());
}
