// SPDX-License-Identifier: Apache-2.0
//
// Records of runs whose ranks take different times.
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <thread>

#include "casync/planner/model_file.h"
#include "runtime/session/session.h"
#include "tests/runtime/session/gradients.h"
#include "tests/support/ranks.h"
#include "tests/support/temporary_directory.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)
using Catch::Matchers::Contains;

namespace {

/// A job of one gradient: each rank computes for so many milliseconds ahead of its submission, and half as long after.
struct Job {
  std::vector<int> ms;  ///< by rank
  std::string plan = {};
  std::vector<bool> records = {};                                  ///< by rank; empty: all do
  std::function<Status(Session&, int rank, int step)> event = {};  ///< as a step begins; not OK: the rank closes
  int steps = 18;
  bool scatters = false;  ///< every other step takes three times as long
};

std::string run(const Job& job, const std::string& folder) {
  std::ofstream(folder + "/plan.txtpb") << "version: 1\n" << job.plan;
  return run_ranks(static_cast<int>(job.ms.size()), [&](RankContext& context) -> std::string {
    const auto rank = static_cast<std::size_t>(context.rank);
    if (!job.plan.empty()) context.options.plan_file = folder + "/plan.txtpb";
    if (job.records.empty() || job.records[rank]) context.options.record_directory = folder;
    Result<std::unique_ptr<Session>> opened = Session::open(context.options);
    if (!opened) return opened.status().text();
    Session& session = **opened;
    const Result<GradientId> id = declare(session, "weight", 100);
    if (!id) return id.status().text();
    for (int step = 0; step < job.steps; ++step) {
      if (job.event && !job.event(session, context.rank, step)) break;
      std::vector<float> values = contribution(context.rank, 100, static_cast<unsigned>(step));
      const int ms = job.ms[rank] * (job.scatters && step % 2 == 1 ? 3 : 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(ms));
      const Submission one{*id, view_of(values)};
      const auto handles = session.submit({&one, 1});
      if (!handles) break;
      if (!session.wait((*handles)[0], -1)) break;
      std::this_thread::sleep_for(std::chrono::microseconds(ms * 500));
      if (!session.step()) break;
    }
    static_cast<void>(session.close());
    return "";
  });
}

Training recorded(const Job& job) {
  TemporaryDirectory folder;
  REQUIRE(run(job, folder.path()) == "");
  const Result<Training> training = read_model_file(folder.path() + "/model.txtpb");
  REQUIRE(training.status().text() == "OK");
  return *training;
}

/// Checks that this rank, which computes for 200 milliseconds and 100 where others do for 20 and 10, is the one that
/// differs, and that the passes are the others'.
void check_slow(const Training& training, Rank rank) {
  REQUIRE(training.slow.size() == 1);
  CHECK(training.slow[0].rank == rank);
  CHECK(training.slow[0].factor > 1.5);
  CHECK(training.backward_s + training.forward_s > 0.02);
  CHECK(training.backward_s + training.forward_s < 0.3);  // the slow rank's take more
}

}  // namespace

TEST_CASE("record of unequal ranks: a slow rank is found, and the others stay equal") {
  const std::string plan = GENERATE("", "group { name: \"g\" gradient: \"weight\" }\n");
  const Training training = recorded({{20, 20, 200}, plan});
  check_slow(training, 2);
  CHECK(training.jitter == 0);
  CHECK_THAT(training.source,
             Contains("18 steps, scaled to both passes of the middle rank") && !Contains("not compared"));
}

TEST_CASE("record of unequal ranks: rank 0 may be the slow one, and the passes are then the others'") {
  const Training training = recorded({{200, 20, 20}});
  check_slow(training, 0);
  REQUIRE(training.gradients.size() == 1);
  CHECK(training.gradients[0].ready_s == Approx(training.backward_s));
}

TEST_CASE("record of unequal ranks: equal ranks whose steps scatter have no factor and say nothing") {
  Job job{{20, 20, 20}};
  job.scatters = true;
  const Training training = recorded(job);
  CHECK(training.is_alike());
  CHECK_THAT(training.source, !Contains("middle") && !Contains("not compared"));
}

TEST_CASE("record of unequal ranks: a rank that records nothing is left out and named") {
  const Training training = recorded({{20, 80, 80, 20}, "", {true, false, true, true}});
  REQUIRE(training.slow.size() == 1);
  CHECK(training.slow[0].rank == 2);
  CHECK_THAT(training.source, Contains("not compared: rank 1 recorded nothing (CASYNC_RECORD)"));
}

TEST_CASE("record of unequal ranks: if rank 0 records nothing, the others' figures have no reader") {
  TemporaryDirectory folder;
  REQUIRE(run({{2, 4}, "", {false, true}}, folder.path()) == "");
  CHECK_FALSE(read_model_file(folder.path() + "/model.txtpb").is_ok());
}

TEST_CASE("record of unequal ranks: a job that fails has its model all the same, and names whom it does not know") {
  Job job{{10, 10, 40}};
  job.event = [](Session& session, int rank, int step) {
    if (rank == 1 && step == 17) session.abort("enough");
    return Status::ok();
  };
  const Clock::time_point begin = Clock::now();
  const Training training = recorded(job);
  CHECK(Seconds(Clock::now() - begin).count() < 10);
  CHECK(training.is_alike());
  CHECK_THAT(training.source, Contains("not compared: ranks 1, 2 left without a goodbye"));
}

TEST_CASE("record of unequal ranks: a rank that left earlier than the others counts with its own steps") {
  Job job{{20, 80, 20}};
  job.event = [](Session&, int rank, int step) {
    return rank == 1 && step == 17 ? aborted("has trained enough") : Status::ok();
  };
  const Training training = recorded(job);
  REQUIRE(training.slow.size() == 1);
  CHECK(training.slow[0].rank == 1);
}

TEST_CASE("record of unequal ranks: a run of a few steps compares nobody") {
  Job job{{5, 20}};
  job.steps = 5;
  const Training training = recorded(job);
  CHECK(training.is_alike());
  CHECK_THAT(training.source, !Contains("not compared"));
}

TEST_CASE("record of unequal ranks: a plan whose exchanges come late has neither a model nor figures") {
  const std::string plan = "staleness: 1\n";
  TemporaryDirectory folder;
  REQUIRE(run({{2, 4}, plan}, folder.path()) == "");
  CHECK_FALSE(read_model_file(folder.path() + "/model.txtpb").is_ok());
}
