// SPDX-License-Identifier: Apache-2.0
//
// vote_bench [elements [ranks]]: compares the merge of a vote in a session with a copy of as many bytes.
//
// Ranks are threads of this process, over loopback, with one gradient of `signsgd` in one partition: its owner, rank 0,
// merges the codes of all, its own among them. Each step's merge is measured by the session's own counter; the best of
// the steps counts, and the best of the copies, which move as many bytes of arrays that no cache holds, as those that
// codecs_bench compares with.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include "runtime/session/session.h"
#include "tests/support/ranks.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using casync::test::RankContext;

namespace {

constexpr int kSteps = 40;
constexpr std::size_t kCopied = std::size_t{1} << 28;

/// Seconds of the fastest copy. Each copies the next part of two large arrays: no cache holds any of it.
double seconds_of_copy(std::size_t bytes) {
  std::vector<std::byte> from(std::max(bytes, kCopied), std::byte{1}), to(from.size());
  double best = 1e9;
  for (std::size_t at = 0, i = 0; i < 4 * kSteps; ++i, at = at + 2 * bytes <= from.size() ? at + bytes : 0) {
    const auto begun = std::chrono::steady_clock::now();
    std::memcpy(to.data() + at, from.data() + at, bytes);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  }
  return to.front() == from.front() ? best : 0;
}

std::string vote(Session& session, const RankContext& context, std::size_t elements, double& best) {
  const Result<GradientId> id = session.declare({"weight", DType::kFloat32, {static_cast<std::int64_t>(elements)}, 0});
  if (!id) return id.status().text();
  std::vector<float> values(elements);
  for (int step = 0; step < kSteps; ++step) {
    values.assign(elements, context.rank == step % context.ranks ? 100.0f : -1e-3f);
    const Submission one{*id, {reinterpret_cast<std::byte*>(values.data()), elements * sizeof(float)}};
    const double before = session.stats().merge_s;
    if (const auto handles = session.submit({&one, 1}); !handles) return handles.status().text();
    if (const Result<StepResult> done = session.step(); !done) return done.status().text();
    const double merge = session.stats().merge_s - before;
    if (merge > 0) best = std::min(best, merge);
    const float wanted = context.ranks > 2 ? -1.0f : 1.0f;
    if (std::find_if(values.begin(), values.end(), [&](float x) { return x != wanted; }) != values.end()) {
      return "the vote is wrong";
    }
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t elements = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : std::size_t{1} << 24;
  const int ranks = argc > 2 ? std::atoi(argv[2]) : 4;
  double best = 1e9;
  casync::test::TemporaryDirectory directory;
  const std::string plan = directory.path() + "/plan.txtpb";
  std::ofstream(plan) << "version: 1 default { codec { name: \"signsgd\" } partitions: 1 }\n";
  const std::string complaints = casync::test::with_sessions(
      ranks, [&](SessionOptions& options) { options.plan_file = plan; },
      [&](Session& session, RankContext& context) {
        double own = 1e9;
        std::string complaint = vote(session, context, elements, own);
        if (own < 1e9) best = own;  // set on one rank, the owner
        return complaint;
      });
  if (!complaints.empty()) {
    std::fprintf(stderr, "%s", complaints.c_str());
    return 1;
  }
  // The codes of all ranks are read, one is written; a copy reads half of as many bytes and writes the other half.
  const std::size_t moved = elements / 8 * static_cast<std::size_t>(ranks + 1);
  const double copy = seconds_of_copy(moved / 2);
  std::printf("%zu elements, %d ranks: merge %.3f ms, %.1f GB/s; copy %.1f GB/s: %.0f %%\n", elements, ranks,
              1e3 * best, static_cast<double>(moved) / best / 1e9, static_cast<double>(moved) / copy / 1e9,
              100 * copy / best);
}
