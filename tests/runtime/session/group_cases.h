// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/session/session.h"
#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/plan_file.h"
#include "tests/support/ranks.h"

/// Trainings with a group "g" of the gradients "a", "b" and "c", and with one gradient in its place.
namespace casync::test::groups {

using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

inline const std::vector<std::string> kNames{"a", "b", "c"};
inline const std::vector<std::size_t> kSizes{1000, 7, 20'001};
constexpr std::size_t kAll = 21'008;

inline const std::string kGroup = "group { name: \"g\" gradient: \"a\" gradient: \"b\" gradient: \"c\" ";

/// The elements of "g" on a rank, one member after the other.
inline std::vector<float> whole(int rank, std::uint32_t salt) { return contribution(rank, kAll, salt); }

inline std::vector<std::vector<float>> parts_of(const std::vector<float>& all) {
  std::vector<std::vector<float>> parts;
  std::size_t at = 0;
  for (const std::size_t size : kSizes) {
    parts.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(at),
                       all.begin() + static_cast<std::ptrdiff_t>(at + size));
    at += size;
  }
  return parts;
}

inline std::vector<float> joined(const std::vector<std::vector<float>>& parts) {
  std::vector<float> all;
  for (const std::vector<float>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// The ids of "a", "b" and "c", declared in an order that depends on the rank.
inline Result<std::vector<GradientId>> declare_members(Session& session) {
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
inline std::string train_members(const std::string& plan_text, const std::string& transport, int steps,
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
inline std::string train_whole(const std::string& plan_text, int steps, std::vector<float>& results) {
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
inline std::string with_group(const std::string& plan_text,
                              const std::function<std::string(Session&, RankContext&, Members&)>& body,
                              double timeout_s = 30) {
  const PlanFile plan(plan_text);
  return with_sessions(
      2,
      [&](SessionOptions& options) {
        options.plan_file = plan.path();
        options.timeout_s = timeout_s;
      },
      [&](Session& session, RankContext& context) -> std::string {
        const Result<std::vector<GradientId>> ids = declare_members(session);
        if (!ids) return ids.status().text();
        Members members{*ids, parts_of(whole(context.rank, 1))};
        return body(session, context, members);
      });
}

inline std::string expect(const Status& status, const std::string& text) {
  return status.text() == text ? "" : "got \"" + status.text() + "\", expected \"" + text + "\"";
}

}  // namespace casync::test::groups
