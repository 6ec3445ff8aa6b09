// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/rank_arrivals.h"

#include <catch2/catch.hpp>
#include <string>

using namespace casync;
using namespace casync::runtime;

namespace {

Identity identity(Rank rank, int ranks, int pid = 1) {
  Identity who;
  who.rank = rank;
  who.ranks = ranks;
  who.pid = pid;
  return who;
}

/// Rank 0 of a job without a door, and what it reports.
struct Job {
  explicit Job(int ranks)
      : ending(ranks),
        seats(identity(0, ranks), {}, {}),
        arrivals(identity(0, ranks), 1, Clock::now() + std::chrono::hours(1), {}, seats, ending,
                 {.complete = [this](const std::vector<Identity>& roster) { said += std::to_string(roster.size()); },
                  .failed = [this](const Status& cause) { said += cause.text(); }}) {}
  std::string said;
  Ending ending;
  Seats seats;
  RankArrivals arrivals;
};

}  // namespace

TEST_CASE("arrivals: a job of one rank is complete at once") {
  Job job(1);
  CHECK_FALSE(job.arrivals.is_complete());
  job.arrivals.tend(Clock::now());
  job.arrivals.tend(Clock::now());
  CHECK(job.said == "1");
  CHECK(job.arrivals.is_complete());
}

TEST_CASE("arrivals: a job is complete once all ranks are here, each as one process") {
  Job job(3);
  job.arrivals.take_in(Here{identity(2, 3), {"a:1"}});
  CHECK(job.arrivals.here().count(2) == 1);
  CHECK(job.said.empty());
  job.arrivals.take_in(Here{identity(1, 3), {"b:1"}});
  CHECK(job.said == "3");
  CHECK(job.arrivals.of(2).rank == 2);
  Job twice(3);
  twice.arrivals.take_in(Here{identity(2, 3), {"a:1"}});
  twice.arrivals.take_in(Here{identity(2, 3, 7), {"a:1"}});
  CHECK_THAT(twice.said, Catch::Contains("two processes have rank 2"));
}

TEST_CASE("arrivals: nobody is taken in once the job is over") {
  Job job(2);
  job.ending.begin({-1, aborted("enough")}, Clock::now());
  job.arrivals.take_in(Here{identity(1, 2), {"a:1"}});
  CHECK(job.arrivals.here().empty());
  CHECK(job.said.empty());
}
