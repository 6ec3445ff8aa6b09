// SPDX-License-Identifier: Apache-2.0
//
// A session's tables: the gradients that are declared, and the last submission of each.
#include "runtime/session/submissions.h"

#include <catch2/catch.hpp>
#include <initializer_list>
#include <memory>
#include <utility>

#include "runtime/device/host/host_device.h"
#include "runtime/session/gradient_table.h"
#include "runtime/session/handles.h"
#include "runtime/session/session_tables.h"
#include "tests/runtime/session/gradients.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)

namespace {

Declared declared(const std::string& name, std::uint64_t key, const std::string& text = "float32 [3]") {
  Declared one{{name, DType::kFloat32, {3}, 0}, {}, key};
  one.text = text;
  return one;
}

std::string text_of(const Result<std::optional<GradientId>>& found) {
  if (!found) return found.status().text();
  return *found ? std::to_string(static_cast<unsigned>(**found)) : "none";
}

/// Two gradients, a and b, of a program in step 0.
struct Submitting {
  Submitting() {
    for (const char* name : {"a", "b"}) {
      tables.gradients.add(declared(name, static_cast<std::uint64_t>(*name)));
      tables.submissions.add(tables.gradients.spec(tables.gradients.size() - 1));
    }
  }
  /// The check of a call that submits these.
  std::string check(std::initializer_list<unsigned> ids) {
    std::vector<Submission> calls;
    for (const unsigned id : ids) calls.push_back({GradientId(id), view_of(values)});
    return tables.submissions.check(calls).text();
  }
  void end_step() { tables.step.end(now); }

  const SyncMode mode;
  const std::unique_ptr<Device> device = make_host_device();
  std::vector<float> values = {1, 2, 3};
  SessionTables tables{mode, *device};
  const Clock::time_point now = Clock::now();
};

}  // namespace

TEST_CASE("gradient table: a name is one gradient, declared alike each time") {
  GradientTable table;
  CHECK(text_of(table.find(declared("a", 1))) == "none");
  CHECK(table.add(declared("a", 1)) == GradientId(0));
  CHECK(table.add(declared("b", 2)) == GradientId(1));
  CHECK(text_of(table.find(declared("b", 2))) == "1");
  CHECK(text_of(table.find(declared("b", 2, "float16 [3]"))) ==
        "InvalidArgument: gradient b was declared as float32 [3], and now as float16 [3]");
  CHECK(text_of(table.find(declared("c", 2))) ==
        "InvalidArgument: gradients b and c have the same 64-bit hash: rename one");
  CHECK(table.specs()[1].name == "b");
}

TEST_CASE("gradient table: each gradient is claimed once, and a claim leads back to it") {
  GradientTable table;
  CHECK_FALSE(table.has_news());
  table.add(declared("a", 1));
  table.add(declared("b", 2, "float16 [3]"));
  CHECK(table.has_news());
  const std::vector<Claim> claims = table.take_claims();
  REQUIRE(claims.size() == 2);
  CHECK(claims[1].name == "gradient b");
  CHECK(claims[1].facts == Facts{{"gradient b", "float16 [3]"}});
  CHECK_FALSE(table.has_news());
  CHECK(table.take_claims().empty());
  CHECK(table.claimed("gradient b") == 1);
  CHECK(table.claimed("settings") == std::nullopt);
  table.add(declared("c", 3));
  CHECK(table.take_claims().size() == 1);
  CHECK(table.run(2) == nullptr);
}

TEST_CASE("submissions: a gradient is submitted once in a call, and once in a step") {
  Submitting it;
  CHECK(it.check({0, 1}) == "OK");
  CHECK(it.check({0, 1}) == "OK");  // nothing was started
  CHECK(it.check({0, 0}) == "InvalidArgument: gradient a is twice in one submission");
  CHECK(it.check({0, 2}) == "InvalidArgument: no gradient has the id 2");
  CHECK(it.check({0}) == "OK");
  it.tables.submissions.note(0, it.now);
  CHECK(it.check({1, 0}) == "InvalidArgument: gradient a was submitted twice in step 0: end the step first");
  CHECK(it.check({1}) == "OK");
  it.end_step();
  CHECK(it.check({1, 0}) == "OK");
}

TEST_CASE("submissions: they know which gradients the step under way has") {
  Submitting it;
  Submissions& submissions = it.tables.submissions;
  CHECK(submissions.check_none().text() == "OK");
  submissions.note(1, it.now);
  CHECK_FALSE(submissions.in_step(0));
  CHECK(submissions.in_step(1));
  CHECK_THAT(submissions.check_none().text(),
             Catch::Contains("gradient b was submitted in step 0 ahead of the consensus"));
  CHECK_THAT(submissions.check_all().text(), Catch::Contains("gradient a was not submitted in step 0"));
  submissions.note(0, it.now);
  CHECK(submissions.check_all().text() == "OK");
  it.end_step();
  CHECK_FALSE(submissions.in_step(1));
  CHECK(submissions.check_none().text() == "OK");
}

TEST_CASE("submissions: the first wait for one counts, until it is submitted again") {
  Submitting it;
  Submissions& submissions = it.tables.submissions;
  const auto later = [&](int seconds) { return it.now + std::chrono::seconds(seconds); };
  submissions.note(0, it.now);
  CHECK(submissions.since(0) == it.now);
  CHECK(submissions.waited_since(0, 0, later(1)) == later(1));
  CHECK(submissions.waited_since(0, 0, later(2)) == later(1));
  it.end_step();
  submissions.note(0, later(3));
  CHECK(submissions.since(0) == later(3));
  CHECK(submissions.waited_since(0, 0, later(4)) == later(4));  // of the step that has ended
  CHECK(submissions.waited_since(0, 1, later(5)) == later(5));
  CHECK(submissions.waited_since(0, 1, later(6)) == later(5));
}

TEST_CASE("session tables: a handle is known until a state is loaded") {
  Submitting it;
  it.tables.submissions.note(1, it.now);
  const Result<GradientRun*> run = it.tables.run_of(handle_of(0, GradientId(1)));
  REQUIRE(run);
  CHECK(*run == nullptr);  // not every rank has declared it
  for (const Handle handle : {handle_of(0, GradientId(0)), handle_of(1, GradientId(1)), handle_of(0, GradientId(2))}) {
    CHECK(it.tables.run_of(handle).status().text() ==
          "InvalidArgument: no submission gave the handle " + std::to_string(static_cast<std::uint64_t>(handle)));
  }
  it.tables.submissions.forget();
  CHECK_FALSE(it.tables.run_of(handle_of(0, GradientId(1))));
}
