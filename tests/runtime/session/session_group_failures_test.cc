// SPDX-License-Identifier: Apache-2.0
//
// Groups where something is wrong: parts of groups, members that are late or missing, values that are not finite.
#include <catch2/catch.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "runtime/session/completions.h"
#include "runtime/session/session.h"
#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/group_cases.h"
#include "tests/runtime/session/plan_file.h"
#include "tests/support/ranks.h"

using namespace casync;                // NOLINT(google-build-using-namespace)
using namespace casync::runtime;       // NOLINT(google-build-using-namespace)
using namespace casync::test;          // NOLINT(google-build-using-namespace)
using namespace casync::test::groups;  // NOLINT(google-build-using-namespace)

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

TEST_CASE("groups: a call that was refused for another gradient is made again, and all of the group are reduced") {
  CHECK(with_group(kGroup + "}", [](Session& session, RankContext& context, Members& members) -> std::string {
          const Result<GradientId> alone = declare(session, "alone", 5);
          if (!alone) return alone.status().text();
          std::vector<float> values = contribution(context.rank, 5, 2);
          for (const std::size_t i : {0, 1}) {
            if (const Status sent = members.submit(session, i); !sent) return sent.text();
          }
          Submission last[] = {{members.ids[2], view_of(members.values[2])}, {*alone, {view_of(values).data, 16}}};
          Handle handles[2];
          std::string bad =
              expect(session.submit(last, handles), "InvalidArgument: gradient alone: 16 bytes, declared with 20");
          if (!bad.empty()) return bad;
          last[1].data = view_of(values);
          if (const Status sent = session.submit(last, handles); !sent) return sent.text();
          if (const Result<StepResult> done = session.step(); !done) return done.status().text();
          if (joined(members.values) != average(2, kAll, 1)) return "not the mean";
          return values == average(2, 5, 2) ? "" : "not the other's mean";
        }) == "");
}

TEST_CASE("groups: a program that has not asked for parameters is refused, and may go on once it has") {
  CHECK(with_group("gossip { neighbours: ring } " + kGroup + "}",
                   [](Session& session, RankContext&, Members& members) -> std::string {
                     const std::vector<std::vector<float>> own = members.values;
                     for (const std::size_t i : {0, 1}) {
                       if (const Status sent = members.submit(session, i); !sent) return sent.text();
                     }
                     const std::string refused = members.submit(session, 2).text();
                     if (refused.find("this program has not asked") == std::string::npos) return "said " + refused;
                     if (session.exchanged() != Exchanged::kParameters) return "it exchanges something else";
                     if (const Status sent = members.submit(session, 2); !sent) return sent.text();
                     if (const Result<StepResult> done = session.step(); !done) return done.status().text();
                     for (std::size_t i = 0; i < kNames.size(); ++i) {
                       if (members.values[i] == own[i]) return kNames[i] + " has no result";
                     }
                     return "";
                   }) == "");
}

TEST_CASE("groups: a group that cannot be sent at the end of the submissions fails its waits, and the others go") {
  const PlanFile plan(
      "group { name: \"bad\" gradient: \"a\" gradient: \"frozen\" codec { name: \"no_such\" } } "
      "group { name: \"worse\" gradient: \"b\" gradient: \"frozen_too\" codec { name: \"nor_this\" } } "
      "group { name: \"good\" gradient: \"c\" gradient: \"frozen_as_well\" }");
  CHECK(run_ranks(2, [&](RankContext& context) -> std::string {
          context.options.plan_file = plan.path();
          const Result<std::unique_ptr<Session>> opened = Session::open(context.options);
          if (!opened) return opened.status().text();
          Session& session = **opened;
          const Result<std::vector<GradientId>> ids = declare_members(session);
          if (!ids) return ids.status().text();
          Members members{*ids, parts_of(whole(context.rank, 1))};
          if (const Status sent = members.submit_all(session, 0); !sent) return sent.text();
          session.end_submissions();
          if (const Status status = session.wait(members.handles[2], -1); !status) return status.text();
          if (members.values[2] != parts_of(average(2, kAll, 1))[2]) return "not the mean";
          if (const Status worse = session.wait(members.handles[1], -1);
              worse.text().find("`nor_this`") == worse.text().npos) {
            return "the other says " + worse.text();
          }
          for (const Status& status : {session.wait(members.handles[0], -1), session.step().status()}) {
            if (status.text().find("no codec is called `no_such`") == std::string::npos) return "said " + status.text();
          }
          const std::string closed = session.close().text();
          return closed.starts_with(
                     "Aborted: the session was closed in step 0: group `bad` has not been submitted: ") &&
                         closed.find("no codec is called `no_such`") != std::string::npos
                     ? ""
                     : "closed: " + closed;
        }) == "");
}

TEST_CASE(
    "groups: a completion of a member whose group is not whole is told once no more comes, and it is submitted again") {
  for (const bool by_step : {false, true}) {
    CAPTURE(by_step);
    CHECK(with_group(kGroup + "}", [&](Session& session, RankContext&, Members& members) -> std::string {
            const std::string why = "InvalidArgument: step 0: group `g` has not been submitted without `b` and 1 more";
            std::string told;
            Completions completions(session);
            if (const Status ready = completions.prepare(1); !ready) return ready.text();
            if (const Status sent = members.submit(session, 0); !sent) return sent.text();
            completions.add(members.handles[0], [&](Handle, const Status& status) { told = status.text(); });
            if (by_step) {
              const std::string refused = session.step().status().text();
              if (!refused.starts_with(why)) return "the step says " + refused;
            } else {
              session.end_submissions();
            }
            if (const Status drained = completions.drain(after(Seconds(20))); !drained) return drained.text();
            if (!told.starts_with(why)) return "told " + told;
            const std::vector<float> mine = members.values[0];
            const std::string forgotten = std::to_string(static_cast<std::uint64_t>(members.handles[0]));
            std::string bad = expect(session.wait(members.handles[0], -1),
                                     "InvalidArgument: no submission gave the handle " + forgotten);
            for (const std::size_t i : {1, 2}) {
              if (const Status sent = members.submit(session, i); !sent) return sent.text();
            }
            const std::string lacks = session.step().status().text();
            if (lacks.find("group `g` has not been submitted without `a`") == std::string::npos)
              return "lacks " + lacks;
            if (members.values[0] != mine) return "memory that is the program's was written";
            if (const Status sent = members.submit(session, 0); !sent) return sent.text();
            const Result<StepResult> done = session.step();
            if (!done) return done.status().text();
            return joined(members.values) == average(2, kAll, 1) ? bad : bad + "not the mean";
          }) == "");
  }
}

TEST_CASE("groups: a session that has failed closes as one without groups, also with a part of a group") {
  for (const std::string mode : {"", "asynchronous { } "}) {
    CAPTURE(mode);
    const PlanFile plan(mode + kGroup + "}");
    CHECK(with_sessions(1, by(plan), [](Session& session, RankContext& context) -> std::string {
            const Result<std::vector<GradientId>> ids = declare_members(session);
            if (!ids) return ids.status().text();
            Members members{*ids, parts_of(whole(context.rank, 1))};
            if (const Status sent = members.submit(session, 0); !sent) return sent.text();
            session.abort("enough");
            const std::string failure = session.failure().text();
            if (failure.find("rank 0 aborted the job: enough") == failure.npos) return "fails with " + failure;
            return expect(session.close(), "OK");
          }) == "");
  }
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
                        "InvalidArgument: gradient frozen: group g has been sent, or its state was loaded, without it: "
                        "declare all of a group ahead of its state and by the end of the first step");
        }) == "");
}

TEST_CASE("groups: a step is under way once it has members, also of a group that may get more") {
  const PlanFile plan("asynchronous { } group { name: \"g\" gradient: \"a\" gradient: \"frozen\" }");
  CHECK(with_sessions(1, by(plan), [](Session& session, RankContext&) -> std::string {
          const Result<SessionState> first = session.state();
          const Result<GradientId> id = declare(session, "a", 5);
          if (!first || !id) return first.status().text() + id.status().text();
          std::vector<float> values(5, 1.0f);
          const Submission one{*id, view_of(values)};
          if (const auto handles = session.submit({&one, 1}); !handles) return handles.status().text();
          const std::string why =
              "InvalidArgument: step 0: group `g` has not been submitted without `frozen`, which was never declared";
          std::string bad = expect(session.begin_consensus(), why + ": the step has submissions");
          bad += expect(session.state().status(), why + ": end the step, then take the state");
          bad += expect(session.load_state(*first), why + ": end the step, then load a state");
          if (const Result<StepResult> done = session.step(); !done) bad += done.status().text();
          return bad;
        }) == "");
}

TEST_CASE("groups: after a state that was refused the rest of a group is declared and sent") {
  const PlanFile plan(kGroup + "}");
  CHECK(with_sessions(1, by(plan), [](Session& session, RankContext& context) -> std::string {
          if (const Result<GradientId> id = declare(session, kNames[0], kSizes[0]); !id) return id.status().text();
          SessionState state;
          state.ranks = 1;
          state.gradients[kNames[0]] = {"elements 0 to 1000 of 21008 in group g: int4", {}};
          const std::string refused = session.load_state(state).text();
          if (refused.find("gradient a: the state is of") == std::string::npos) return "said " + refused;
          const Result<std::vector<GradientId>> ids = declare_members(session);
          if (!ids) return ids.status().text();
          Members members{*ids, parts_of(whole(context.rank, 1))};
          if (const Status sent = members.submit_all(session, 0); !sent) return sent.text();
          const Result<StepResult> done = session.step();
          return done ? "" : done.status().text();
        }) == "");
}

TEST_CASE("groups: after a failure no member can be declared, and the state is the last committed step's") {
  const PlanFile plan(kGroup + "codec { name: \"onebit\" } }");
  CHECK(with_sessions(1, by(plan), [](Session& session, RankContext& context) -> std::string {
          const Result<std::vector<GradientId>> ids = declare_members(session);
          if (!ids) return ids.status().text();
          Members members{*ids, parts_of(whole(context.rank, 1))};
          if (const Status sent = members.submit_all(session, 0); !sent) return sent.text();
          if (const Result<StepResult> done = session.step(); !done) return done.status().text();
          const Result<SessionState> committed = session.state();
          if (!committed) return committed.status().text();
          if (const Status sent = members.submit(session, 1); !sent) return sent.text();
          session.abort("enough");
          const std::string declared = declare(session, kNames[0], kSizes[0]).status().text();
          std::string bad = declared.find("rank 0 aborted the job: enough") == declared.npos ? "said " + declared : "";
          const Result<SessionState> kept = session.state();
          if (!kept) return bad + kept.status().text();
          if (kept->step != 1 || kept->gradients.size() != kNames.size()) bad += "not the state of step 1";
          for (const auto& [name, state] : committed->gradients) {
            if (kept->gradients.at(name).residual != state.residual) bad += name + " has another residual";
          }
          return bad.empty() ? "as it should" : bad;
        }) == "rank 0: as it should\n");
}

TEST_CASE("groups: gradients that cannot be in a group are refused by name") {
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
                      "InvalidArgument: gradient a: it was declared earlier with another shape, type or priority");
        bad += expect(session.declare({"c", DType::kFloat32, {-1}, 0}).status(),
                      "InvalidArgument: gradient c: an extent of -1, expected 0 or more");
        std::vector<float> values(5);
        const Submission hidden{GradientId(0), {}, DeviceView::of(values.data(), 20)};
        bad += expect(session.submit({&hidden, 1}).status(),
                      "InvalidArgument: gradient a: its memory is on a device, and the session is on the CPU: "
                      "open it with the device");
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
      2, [&](SessionOptions& options) { options.plan_file = others[*options.launch.rank].path(); },
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
                     std::size_t elements = 0;
                     for (const auto& [name, state] : kept->gradients) {
                       elements += state.residual.size();
                       for (const float value : state.residual) {
                         if (value != 0) return name + " has a residual";
                       }
                     }
                     return elements > 0 ? "" : "nothing is kept";
                   }) == "");
  CHECK(with_group(kGroup + "}", [](Session& session, RankContext& context, Members& members) -> std::string {
          if (context.rank == 1) members.values[1][3] = std::numeric_limits<float>::infinity();
          if (const Status sent = members.submit_all(session, 0); !sent) return sent.text();
          const Result<StepResult> done = session.step();
          if (!done) return done.status().text();
          return !done->finite && done->first_non_finite == "b" ? "" : "named " + done->first_non_finite;
        }) == "");
}
