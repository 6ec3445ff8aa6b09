// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "runtime/session/session.h"
#include "tests/runtime/session/gradients.h"
#include "tests/support/ranks.h"
#include "tests/support/temporary_directory.h"

/// Trainings of small gradients, submitted in several ways.
namespace casync::test::bundles {

using runtime::GradientId;
using runtime::Session;
using runtime::SessionOptions;
using runtime::StepResult;
using runtime::Submission;

inline constexpr int kRanks = 3;
inline constexpr std::size_t kGradients = 60;
inline constexpr std::uint32_t kBundleSteps = 4;

inline std::size_t elements_of(std::size_t gradient) { return gradient % 7 == 0 ? 1 : 37 * gradient % 600 + 1; }

/// The way in which a rank submits: all in one call; one by one; or so, with a wait for the first one's result.
enum class SubmissionWay { kTogether, kInParts, kWaiting };

inline SubmissionWay way_of(int rank, std::uint32_t step, bool mixed) {
  if (!mixed) return SubmissionWay::kTogether;
  // Only one rank waits for a result, and the others have submitted all by then.
  if (rank == 1 && step % 2 == 1) return SubmissionWay::kWaiting;
  return (static_cast<std::uint32_t>(rank) + step) % 2 == 0 ? SubmissionWay::kTogether : SubmissionWay::kInParts;
}

inline std::string submit(Session& session, std::vector<Submission> all, SubmissionWay way, unsigned salt) {
  if (way == SubmissionWay::kTogether) {
    const auto handles = session.submit(all);
    return handles ? "" : handles.status().text();
  }
  std::shuffle(all.begin(), all.end(), std::mt19937(salt));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto handles = session.submit({&all[i], 1});
    if (!handles) return handles.status().text();
    if (i != 0 || way != SubmissionWay::kWaiting) continue;
    if (const Status status = session.wait((*handles)[0], -1); !status) return status.text();
  }
  return "";
}

struct Outcome {
  std::vector<std::vector<float>> values = std::vector<std::vector<float>>(kRanks);
  std::vector<std::vector<float>> kept = std::vector<std::vector<float>>(kRanks);  ///< residuals at the end
  std::uint64_t tasks = 0;
  std::string first_non_finite;
};

/// Gradients in the host's memory.
class OnHost {
 public:
  static void configure(SessionOptions&) {}
  Submission submission(GradientId id, std::vector<float>& values) { return {id, view_of(values)}; }
  void read(std::size_t, std::vector<float>&) {}
};

/// Trains with the gradients' memory of each rank in a `Memory`. `more`: of the plan's default.
template <class Memory = OnHost>
std::string train(const std::string& codec, Bytes fusion_bytes, bool mixed, const std::string& transport,
                  Outcome& outcome, bool with_nan = false, const std::string& more = "") {
  const TemporaryDirectory directory = TemporaryDirectory::in_memory();
  const std::string path = directory.path() + "/plan.txtpb";
  std::ofstream(path) << "version: 1\nfusion_bytes: " << fusion_bytes << "\ndefault { codec { name: \"" << codec
                      << "\" } " << more << " }\n";
  return with_sessions(
      kRanks,
      [&](SessionOptions& options) {
        options.plan_file = path;
        Memory::configure(options);
      },
      [&](Session& session, RankContext& context) -> std::string {
        Memory memory;
        std::vector<GradientId> ids;
        for (std::size_t i = 0; i < kGradients; ++i) {
          const Result<GradientId> id = declare(session, "g" + std::to_string(i), elements_of(i));
          if (!id) return id.status().text();
          ids.push_back(*id);
        }
        for (std::uint32_t step = 0; step < kBundleSteps; ++step) {
          std::vector<std::vector<float>> values;
          std::vector<Submission> submissions;
          for (std::size_t i = 0; i < kGradients; ++i) {
            values.push_back(contribution(context.rank, elements_of(i), step * 1000 + static_cast<unsigned>(i)));
          }
          if (with_nan && step == 2 && context.rank == 1) values[17][0] = std::numeric_limits<float>::quiet_NaN();
          for (std::size_t i = 0; i < kGradients; ++i) submissions.push_back(memory.submission(ids[i], values[i]));
          const SubmissionWay way = way_of(context.rank, step, mixed);
          if (std::string failed = submit(session, submissions, way, step); !failed.empty()) return failed;
          const Result<StepResult> done = session.step();
          if (!done) return done.status().text();
          if (context.rank == 0 && !done->finite) outcome.first_non_finite = done->first_non_finite;
          std::vector<float>& all = outcome.values[static_cast<std::size_t>(context.rank)];
          for (std::size_t i = 0; i < kGradients; ++i) {
            memory.read(i, values[i]);
            all.insert(all.end(), values[i].begin(), values[i].end());
          }
        }
        if (context.rank == 0) outcome.tasks = session.stats().tasks;
        const Result<runtime::SessionState> state = session.state();
        if (!state) return state.status().text();
        std::vector<float>& kept = outcome.kept[static_cast<std::size_t>(context.rank)];
        for (const auto& [name, one] : state->gradients) {
          kept.insert(kept.end(), one.residual.begin(), one.residual.end());
        }
        return "";
      },
      transport);
}

/// Returns true if all elements are equal or both NaN.
inline bool alike(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](float x, float y) {
           return x == y || (std::isnan(x) && std::isnan(y));
         });
}

}  // namespace casync::test::bundles
