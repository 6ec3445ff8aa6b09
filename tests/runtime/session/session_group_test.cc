// SPDX-License-Identifier: Apache-2.0
//
// Groups of gradients that are sent as one.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "runtime/session/completions.h"
#include "runtime/session/session.h"
#include "tests/runtime/session/gradients.h"
#include "tests/support/ranks.h"
#include "tests/support/temporary_directory.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)

namespace {

const std::vector<std::string> kNames{"a", "b", "c"};
const std::vector<std::size_t> kSizes{1000, 7, 20'001};
constexpr std::size_t kAll = 21'008;

const std::string kGroup = "group { name: \"g\" gradient: \"a\" gradient: \"b\" gradient: \"c\" ";

/// A plan's file, in a folder of its own.
struct PlanFile {
  explicit PlanFile(const std::string& text) { std::ofstream(path) << "version: 1\n" << text << "\n"; }
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/plan.txtpb";
};

std::function<void(SessionOptions&)> by(const PlanFile& plan) {
  return [&plan](SessionOptions& options) { options.plan_file = plan.path; };
}

/// The elements of "g" on a rank, one member after the other.
std::vector<float> whole(int rank, std::uint32_t salt) { return contribution(rank, kAll, salt); }

std::vector<std::vector<float>> parts_of(const std::vector<float>& all) {
  std::vector<std::vector<float>> parts;
  std::size_t at = 0;
  for (const std::size_t size : kSizes) {
    parts.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(at),
                       all.begin() + static_cast<std::ptrdiff_t>(at + size));
    at += size;
  }
  return parts;
}

std::vector<float> joined(const std::vector<std::vector<float>>& parts) {
  std::vector<float> all;
  for (const std::vector<float>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// The ids of "a", "b" and "c", declared in an order that depends on the rank.
Result<std::vector<GradientId>> declare_members(Session& session) {
  std::vector<GradientId> ids(kNames.size());
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const std::size_t at = (i + static_cast<std::size_t>(session.rank())) % kNames.size();
    const Result<GradientId> id = declare(session, kNames[at], kSizes[at]);
    if (!id) return id.status();
    ids[at] = *id;
  }
  return ids;
}

/// The members' values, and the handles of their submissions.
struct Members {
  std::vector<GradientId> ids;
  std::vector<std::vector<float>> values;
  std::vector<Handle> handles = std::vector<Handle>(kNames.size());

  Status submit(Session& session, std::size_t i) {
    const Submission one{ids[i], view_of(values[i])};
    return session.submit({&one, 1}, {&handles[i], 1});
  }
  /// One at a time, in an order that depends on rank and step.
  Status submit_all(Session& session, unsigned step) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      CASYNC_RETURN_IF_ERROR(submit(session, (i + step + static_cast<std::size_t>(session.rank())) % ids.size()));
    }
    return Status::ok();
  }
};

/// Rank 0's results of some steps with the plan's group.
std::string train_members(const std::string& plan_text, const std::string& transport, int steps,
                          std::vector<float>& results) {
  const PlanFile plan(plan_text);
  return with_sessions(
      3, by(plan),
      [&](Session& session, RankContext& context) -> std::string {
        const Result<std::vector<GradientId>> ids = declare_members(session);
        if (!ids) return ids.status().text();
        Members members{*ids, {}};
        for (int step = 0; step < steps; ++step) {
          if (session.exchanged() != Exchanged::kNothing) {
            members.values = parts_of(whole(context.rank, static_cast<std::uint32_t>(step)));
            if (const Status sent = members.submit_all(session, static_cast<unsigned>(step)); !sent) return sent.text();
            for (std::size_t i = 0; i < kNames.size(); ++i) {
              if (step % 3 == 2) break;  // step() waits, too
              if (const Status status = session.wait(members.handles[i], -1); !status) return status.text();
              if (!session.done(members.handles[i])) return "not done after its wait";
            }
          }
          const Result<StepResult> done = session.step();
          if (!done) return done.status().text();
          const std::vector<float> all = joined(members.values);
          if (context.rank == 0) results.insert(results.end(), all.begin(), all.end());
        }
        return "";
      },
      transport);
}

/// The same of a gradient "g" that is one from the start.
std::string train_whole(const std::string& plan_text, int steps, std::vector<float>& results) {
  const PlanFile plan(plan_text);
  return with_sessions(3, by(plan), [&](Session& session, RankContext& context) -> std::string {
    const Result<GradientId> id = declare(session, "g", kAll);
    if (!id) return id.status().text();
    std::vector<float> values;
    for (int step = 0; step < steps; ++step) {
      if (session.exchanged() != Exchanged::kNothing) {
        values = whole(context.rank, static_cast<std::uint32_t>(step));
        const Submission one{*id, view_of(values)};
        if (const auto handles = session.submit({&one, 1}); !handles) return handles.status().text();
      }
      const Result<StepResult> done = session.step();
      if (!done) return done.status().text();
      if (context.rank == 0) results.insert(results.end(), values.begin(), values.end());
    }
    return "";
  });
}

/// Runs two ranks with "g"; the body returns what was wrong.
std::string with_group(const std::string& plan_text,
                       const std::function<std::string(Session&, RankContext&, Members&)>& body,
                       double timeout_s = 30) {
  const PlanFile plan(plan_text);
  return with_sessions(
      2,
      [&](SessionOptions& options) {
        options.plan_file = plan.path;
        options.timeout_s = timeout_s;
      },
      [&](Session& session, RankContext& context) -> std::string {
        const Result<std::vector<GradientId>> ids = declare_members(session);
        if (!ids) return ids.status().text();
        Members members{*ids, parts_of(whole(context.rank, 1))};
        return body(session, context, members);
      });
}

std::string expect(const Status& status, const std::string& text) {
  return status.text() == text ? "" : "got \"" + status.text() + "\", expected \"" + text + "\"";
}

}  // namespace

TEST_CASE("groups: the results are those of one gradient, with any codec and strategy and in any order") {
  for (const char* how : {"", "codec { name: \"onebit\" }", "codec { name: \"int4\" } strategy: ring partitions: 5",
                          "strategy: tree partitions: 2", "codec { name: \"dgc\" } partitions: 3",
                          "codec { name: \"int8\" } warm_up_steps: 2"}) {
    CAPTURE(how);
    std::vector<float> members, one;
    REQUIRE(train_members(kGroup + how + " }", "loopback", 5, members) == "");
    REQUIRE(train_whole("gradient { name: \"g\" " + std::string(how) + " }", 5, one) == "");
    CHECK(members == one);
  }
}

TEST_CASE("groups: they go through staleness, local SGD and a credit") {
  for (const char* how : {"staleness: 1", "staleness: 2", "local_sgd { every: 2 }", "credit_bytes: 4096"}) {
    CAPTURE(how);
    std::vector<float> members, one;
    const std::string rest = std::string("default { codec { name: \"int8\" } partitions: 4 } ") + how;
    REQUIRE(train_members(kGroup + "} " + rest, "loopback", 6, members) == "");
    REQUIRE(train_whole(rest, 6, one) == "");
    CHECK(members == one);
  }
}

TEST_CASE("groups: over UCX") {
  std::vector<float> members, one;
  const std::string complaints = train_members(kGroup + "codec { name: \"int8\" } }", "ucx:tcp", 4, members);
  if (complaints.find("Unimplemented") != std::string::npos) {
    WARN("[SKIP] " << complaints);
    return;
  }
  REQUIRE(complaints == "");
  REQUIRE(train_whole("gradient { name: \"g\" codec { name: \"int8\" } }", 4, one) == "");
  CHECK(members == one);
}

TEST_CASE("groups: a group leaves with its last member, as one message to each peer") {
  CHECK(with_group(kGroup + "partitions: 2 }", [](Session& session, RankContext&, Members& members) -> std::string {
          for (unsigned step = 0; step < 2; ++step) {
            const std::uint64_t before = session.stats().messages_sent;
            for (std::size_t i = 0; i < 2; ++i) {
              if (const Status sent = members.submit(session, i); !sent) return sent.text();
            }
            for (std::size_t i = 0; i < 2; ++i) {
              if (session.done(members.handles[i])) return "done before the last was there";
              const Status early = session.wait(members.handles[i], 0.01);
              const std::string late = "Timeout: gradient " + kNames[i] + ", step " + std::to_string(step) +
                                       ": group g has not left without `c`";
              if (std::string bad = expect(early, late); !bad.empty()) return bad;
            }
            if (const Status sent = members.submit(session, 2); !sent) return sent.text();
            if (const Result<StepResult> done = session.step(); !done) return done.status().text();
            if (session.stats().messages_sent - before != 2) return "not one message to the peer in each hop";
          }
          return "";
        }) == "");
}

TEST_CASE("groups: what waits in other threads goes on when the group has been reduced") {
  CHECK(with_group(kGroup + "}", [](Session& session, RankContext& context, Members& members) -> std::string {
          Completions completions(session);
          std::atomic<int> called = 0;
          if (const Status ready = completions.prepare(2); !ready) return ready.text();
          for (std::size_t i = 0; i < 2; ++i) {
            if (const Status sent = members.submit(session, i); !sent) return sent.text();
            completions.add(members.handles[i],
                            [&](Handle, const Status& status) { called += status.is_ok() ? 1 : 100; });
          }
          Status waited = internal_error("never");
          std::thread waiter([&] { waited = session.wait(members.handles[0], -1); });
          if (const Status sent = members.submit(session, 2); !sent) return sent.text();
          waiter.join();
          completions.drain();
          const Result<StepResult> done = session.step();
          if (!done || !waited) return done.status().text() + waited.text();
          if (called != 2) return "completions: " + std::to_string(called);
          const std::vector<float> mean = average(2, kAll, 1);
          return joined(members.values) == mean || context.rank < 0 ? "" : "not the mean";
        }) == "");
}

TEST_CASE("groups: a step with a part of a group is refused and may go on") {
  CHECK(with_group(kGroup + "}", [](Session& session, RankContext&, Members& members) -> std::string {
          if (const Status sent = members.submit(session, 1); !sent) return sent.text();
          const std::string why = "step 0: group `g` has not been submitted without `a` and 1 more";
          std::string bad =
              expect(session.step().status(), "InvalidArgument: " + why +
                                                  ": submit it, zeros if it is not used, or leave it out of "
                                                  "the group");
          session.end_submissions();
          bad +=
              expect(session.wait(members.handles[1], -1),
                     "InvalidArgument: " + why + ": submit it, zeros if it is not used, or leave it out of the group");
          bad += expect(session.state().status(), "InvalidArgument: " + why + ": end the step, then take the state");
          bad += expect(members.submit(session, 1),
                        "InvalidArgument: gradient b was submitted twice in step 0: end the step first");
          if (!bad.empty()) return bad;
          const Submission rest[] = {{members.ids[0], view_of(members.values[0])},
                                     {members.ids[2], view_of(members.values[2])},
                                     {members.ids[0], view_of(members.values[0])}};
          Handle handles[3];
          bad = expect(session.submit(rest, handles), "InvalidArgument: gradient a is twice in one submission");
          if (!bad.empty()) return bad;
          if (const Status sent = session.submit({rest, 2}, handles); !sent) return sent.text();
          if (const Result<StepResult> done = session.step(); !done) return done.status().text();
          if (joined(members.values) != average(2, kAll, 1)) return "not the mean";
          // A step without the group is one like any other.
          const Result<StepResult> none = session.step();
          return none ? "" : none.status().text();
        }) == "");
}

TEST_CASE("groups: a wait for a member that nobody submits ends the job by its name") {
  const std::string complaints = with_group(
      kGroup + "}",
      [](Session& session, RankContext&, Members& members) -> std::string {
        if (const Status sent = members.submit(session, 0); !sent) return sent.text();
        return session.wait(members.handles[0], -1).text();
      },
      1);
  CHECK(complaints.find("group g has not left without `b` and 1 more") != std::string::npos);
}

TEST_CASE("groups: members that are never declared are left out after the first step") {
  const PlanFile plan("group { name: \"g\" gradient: \"frozen\" gradient: \"a\" gradient: \"b\" gradient: \"c\" }");
  CHECK(with_sessions(2, by(plan), [&](Session& session, RankContext& context) -> std::string {
          const Result<std::vector<GradientId>> ids = declare_members(session);
          if (!ids) return ids.status().text();
          for (unsigned step = 0; step < 3; ++step) {
            Members members{*ids, parts_of(whole(context.rank, step))};
            if (const Status sent = members.submit_all(session, step); !sent) return sent.text();
            if (step == 0) {
              if (session.done(members.handles[0])) return "done while a member may come";
              session.end_submissions();
            }
            if (const Status waited = session.wait(members.handles[0], -1); !waited) return waited.text();
            if (const Result<StepResult> done = session.step(); !done) return done.status().text();
            if (joined(members.values) != average(2, kAll, step)) return "not the mean";
          }
          return expect(declare(session, "frozen", 5).status(),
                        "InvalidArgument: gradient frozen: group g has been sent without it: declare all of a group "
                        "before the first step ends");
        }) == "");
}

TEST_CASE("groups: what cannot be in a group is refused by its name") {
  const PlanFile plan(kGroup + "}");
  CHECK(
      with_sessions(1, by(plan), [](Session& session, RankContext&) -> std::string {
        std::string bad = expect(declare(session, "g", 5).status(),
                                 "InvalidArgument: gradient g: the plan has a group of this name: rename the group");
        if (!declare(session, "a", 5)) return "a is refused";
        bad +=
            expect(session.declare({"b", DType::kFloat16, {5}, 0}).status(),
                   "InvalidArgument: gradient b: float16, and a, which is in group g with it, is float32: a group has "
                   "one type");
        bad += expect(declare(session, "a", 6).status(),
                      "InvalidArgument: gradient a: it was declared with another shape, type or priority before");
        bad += expect(session.declare({"c", DType::kFloat32, {-1}, 0}).status(),
                      "InvalidArgument: gradient c: an extent of -1");
        std::vector<float> values(5);
        const Submission hidden{GradientId(0), {}, DeviceView::of(values.data(), 20)};
        bad += expect(session.submit({&hidden, 1}).status(),
                      "InvalidArgument: gradient a: its memory is on a device, and group g is put together on the CPU");
        const Submission small{GradientId(0), {reinterpret_cast<std::byte*>(values.data()), 16}};
        bad += expect(session.submit({&small, 1}).status(), "InvalidArgument: gradient a: 16 bytes, declared with 20");
        const Submission stranger{GradientId(1), view_of(values)};
        bad += expect(session.submit({&stranger, 1}).status(), "InvalidArgument: no gradient has the id 1");
        return bad;
      }) == "");
}

TEST_CASE("groups: ranks whose members differ are told which, though the whole is as large") {
  const PlanFile plan("group { name: \"g\" gradient: \"a\" gradient: \"b\" }");
  const std::string complaints = with_sessions(2, by(plan), [](Session& session, RankContext& context) -> std::string {
    const std::size_t first = context.rank == 0 ? 4 : 6;
    std::vector<float> a(first), b(10 - first);
    const Result<GradientId> ids[] = {declare(session, "a", a.size()), declare(session, "b", b.size())};
    const Submission both[] = {{*ids[0], view_of(a)}, {*ids[1], view_of(b)}};
    if (const auto handles = session.submit(both); !handles) return handles.status().text();
    return session.step().status().text();
  });
  CHECK(complaints.find("[10] of a [4], b [6]") != std::string::npos);
  CHECK(complaints.find("[10] of a [6], b [4]") != std::string::npos);
  const PlanFile others[] = {PlanFile("group { name: \"g\" gradient: \"a\" }"), PlanFile("")};
  const std::string start = with_sessions(
      2, [&](SessionOptions& options) { options.plan_file = others[*options.launch.rank].path; },
      [](Session&, RankContext&) { return std::string(); });
  CHECK(start.find("plan: group") != std::string::npos);
}

TEST_CASE("groups: a gradient that is not finite is named, and no residual changes") {
  CHECK(with_group(kGroup + "codec { name: \"onebit\" } }",
                   [](Session& session, RankContext& context, Members& members) -> std::string {
                     if (context.rank == 1) members.values[1][3] = std::numeric_limits<float>::quiet_NaN();
                     if (const Status sent = members.submit_all(session, 0); !sent) return sent.text();
                     const Result<StepResult> done = session.step();
                     if (!done) return done.status().text();
                     if (done->finite) return "finite";
                     const auto is_one_of = [&](const std::string& name) {
                       return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
                     };
                     if (!is_one_of(done->first_non_finite)) return "named " + done->first_non_finite;
                     const Result<SessionState> kept = session.state();
                     if (!kept) return kept.status().text();
                     for (const auto& [name, state] : kept->gradients) {
                       for (const float value : state.residual) {
                         if (value != 0) return name + " has a residual";
                       }
                     }
                     return "";
                   }) == "");
  CHECK(with_group(kGroup + "}", [](Session& session, RankContext& context, Members& members) -> std::string {
          if (context.rank == 1) members.values[1][3] = std::numeric_limits<float>::infinity();
          if (const Status sent = members.submit_all(session, 0); !sent) return sent.text();
          const Result<StepResult> done = session.step();
          if (!done) return done.status().text();
          return !done->finite && done->first_non_finite == "b" ? "" : "named " + done->first_non_finite;
        }) == "");
}

TEST_CASE("groups: a state has each member's part, and training goes on from it") {
  for (const char* how : {"codec { name: \"onebit\" } partitions: 3", "codec { name: \"dgc\" }"}) {
    for (const char* mode : {"", "staleness: 2"}) {
      CAPTURE(how, mode);
      const std::string text = kGroup + how + " } " + mode;
      SessionState saved[2];
      std::vector<float> expected[2];
      const auto train = [](Session& session, RankContext& context, Members& members, unsigned from, unsigned to) {
        for (unsigned step = from; step < to; ++step) {
          members.values = parts_of(whole(context.rank, step));
          if (const Status sent = members.submit_all(session, step); !sent) return sent.text();
          if (const Result<StepResult> done = session.step(); !done) return done.status().text();
        }
        return std::string();
      };
      REQUIRE(with_group(text, [&](Session& session, RankContext& context, Members& members) -> std::string {
                std::string bad = train(session, context, members, 0, 4);
                const Result<SessionState> state = session.state();
                if (!state) return bad + state.status().text();
                saved[context.rank] = *state;
                if (state->gradients.contains("g")) return "the state has the group";
                for (std::size_t i = 0; i < kNames.size(); ++i) {
                  const GradientState& one = state->gradients.at(kNames[i]);
                  if (one.residual.empty() || one.residual.size() % kSizes[i] != 0) return kNames[i] + " has no part";
                  for (const GradientState::Range& range : one.owned) {
                    if (range.first + range.count > kSizes[i]) return kNames[i] + " owns too much";
                  }
                }
                bad += train(session, context, members, 4, 8);
                expected[context.rank] = joined(members.values);
                return bad;
              }) == "");
      CHECK(with_group(text, [&](Session& session, RankContext& context, Members& members) -> std::string {
              if (const Status loaded = session.load_state(saved[context.rank]); !loaded) return loaded.text();
              std::string bad = train(session, context, members, 4, 8);
              return joined(members.values) == expected[context.rank] ? bad : bad + "other results";
            }) == "");
      // A state of another order of members, of only some, and of a plan with the group for one without.
      CHECK(with_group(std::string("group { name: \"g\" gradient: \"b\" gradient: \"a\" gradient: \"c\" ") + how +
                           " } " + mode,
                       [&](Session& session, RankContext& context, Members&) -> std::string {
                         const std::string told = session.load_state(saved[context.rank]).text();
                         const bool named =
                             told.starts_with("InvalidArgument: gradient b: the state is of elements 1000 ") &&
                             told.ends_with("here it is elements 0 to 7 of 21008 in group g");
                         return named ? "" : told;
                       }) == "");
      CHECK(with_group(text, [&](Session& session, RankContext& context, Members&) -> std::string {
              SessionState some = saved[context.rank];
              std::erase_if(some.gradients, [](const auto& one) { return one.first.starts_with("b"); });
              return expect(session.load_state(some),
                            "InvalidArgument: gradient b: the state has nothing of it, and it has others of group g");
            }) == "");
      CHECK(with_group(std::string("default { ") + how + " } " + mode,
                       [&](Session& session, RankContext& context, Members& members) -> std::string {
                         std::string told = session.load_state(saved[context.rank]).text();
                         if (told == "OK") told = train(session, context, members, 4, 5);
                         return told.find("in group g") != std::string::npos ? "" : "told only: " + told;
                       }) == "");
    }
  }
}
