// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/session/session.h"
#include "tests/runtime/session/gradients.h"
#include "tests/support/ranks.h"

namespace casync::test {

struct MixedTraining {
  std::size_t gradients;  ///< one in ten is large
  unsigned steps;
  std::string transport;
};

/// Trains four ranks. `last`: rank 0's gradients at the end, one after the other.
inline std::string train(const MixedTraining& training, const std::function<void(SessionOptions&)>& configure,
                         std::vector<float>& last) {
  return with_sessions(
      4, configure,
      [&](Session& session, RankContext& context) -> std::string {
        std::vector<std::vector<float>> values(training.gradients);
        std::vector<GradientId> ids;
        for (std::size_t i = 0; i < values.size(); ++i) {
          values[i].resize(i % 10 == 0 ? 100'000 : 500 + i);
          const Result<GradientId> id = declare(session, "g" + std::to_string(i), values[i].size());
          if (!id) return id.status().text();
          ids.push_back(*id);
        }
        for (unsigned step = 0; step < training.steps; ++step) {
          std::vector<Submission> submissions;
          for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = contribution(context.rank, values[i].size(), step * 100 + static_cast<unsigned>(i));
            submissions.push_back({ids[i], view_of(values[i])});
          }
          if (auto handles = session.submit(submissions); !handles) return handles.status().text();
          if (const Result<StepResult> done = session.step(); !done) return done.status().text();
        }
        if (context.rank != 0) return "";
        last.clear();
        for (const std::vector<float>& one : values) last.insert(last.end(), one.begin(), one.end());
        return "";
      },
      training.transport);
}

}  // namespace casync::test
