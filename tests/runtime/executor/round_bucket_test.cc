// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/round_bucket.h"

#include <catch2/catch.hpp>
#include <limits>

#include "base/allocation_count.h"
#include "tests/runtime/executor/rounds_ranks.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// One of two ranks, with a bucket of all its gradients.
struct BucketSide {
  BucketSide(Rank self, const std::vector<std::string>& codecs) : rank(self, 2, codecs) {
    REQUIRE(bucket.open(*rank.device).text() == "OK");
  }
  /// Queues parts up to the next call of the transport, and this one. Returns the status of the last.
  Status issue_some() {
    while (at < bucket.parts()) {
      CASYNC_RETURN_IF_ERROR(bucket.issue(at, *rank.stream, rank.transport));
      if (bucket.calls_transport(at++)) break;
    }
    return Status::ok();
  }
  bool has_issued_all() const { return at == bucket.parts(); }

  test::RoundsRank rank;
  RoundBucket bucket{rank.bucket, rank.runs, rank.settings()};
  std::size_t at = 0;
};

/// A job of two ranks.
struct Job {
  explicit Job(const std::vector<std::string>& codecs) : sides{BucketSide(0, codecs), BucketSide(1, codecs)} {}
  /// Elements of rank 0 are `value`, those of rank 1 as large again.
  void begin(std::uint32_t step, float value) {
    for (BucketSide& side : sides) side.rank.begin(step, &side == sides ? value : 2 * value);
  }
  /// Goes through all parts on both ranks. Returns false if one of them was refused.
  bool run() {
    for (BucketSide& side : sides) side.at = 0;
    while (!sides[0].has_issued_all()) {
      for (BucketSide& side : sides) {
        if (!side.issue_some()) return false;
      }
      if (!sides[0].has_issued_all()) test::join(sides[0].rank.transport, sides[1].rank.transport);
    }
    for (BucketSide& side : sides) {
      const Result<bool> over = side.bucket.is_over();
      if (!over || !*over) return false;
    }
    return sides[1].has_issued_all();
  }

  BucketSide sides[2];
};

const std::vector<std::string> kAllKinds{"none", "int8", "", "powersgd"};

}  // namespace

TEST_CASE("round bucket: ranks get the mean of their elements, step after step, whatever carries a gradient") {
  Job job(kAllKinds);
  for (std::uint32_t step = 0; step < 3; ++step) {
    const auto value = static_cast<float>(step + 1);
    job.begin(step, value);
    REQUIRE(job.run());
    for (BucketSide& side : job.sides) {
      for (std::size_t g = 0; g < kAllKinds.size(); ++g) {
        INFO(kAllKinds[g]);
        CHECK(side.rank.runs[g]->step.is_finite());
        for (const float x : side.rank.values[g]) REQUIRE(x == Approx(1.5f * value).epsilon(1e-3));
      }
    }
    for (std::size_t g = 0; g < kAllKinds.size(); ++g)
      CHECK(job.sides[0].rank.values[g] == job.sides[1].rank.values[g]);
  }
}

TEST_CASE("round bucket: both ranks know which gradient is not finite on one of them") {
  for (std::size_t bad = 0; bad < kAllKinds.size(); ++bad) {
    Job job(kAllKinds);
    job.begin(0, 1);
    job.sides[1].rank.values[bad][3] = std::numeric_limits<float>::infinity();
    REQUIRE(job.run());
    for (BucketSide& side : job.sides) {
      for (std::size_t g = 0; g < kAllKinds.size(); ++g) CHECK(side.rank.runs[g]->step.is_finite() == (g != bad));
    }
  }
}

TEST_CASE("round bucket: a steady step allocates nothing") {
  Job job(kAllKinds);
  std::uint64_t allocated = 0;
  for (std::uint32_t step = 0; step < 5; ++step) {
    job.begin(step, 1);
    const std::uint64_t before = allocations_of_this_thread();
    const bool is_over = job.run();
    if (step >= 2) allocated += allocations_of_this_thread() - before;
    REQUIRE(is_over);
  }
  CHECK(allocated == 0);
}

TEST_CASE("round bucket: a call that is refused names the gradient and the step") {
  Job job({"int8", ""});
  job.begin(4, 1);
  job.sides[0].rank.transport.answer = peer_failure("rank 1 is gone");
  CHECK(job.sides[0].issue_some().text() == "PeerFailure: gradient layer0, step 4: rank 1 is gone");
}

TEST_CASE("round bucket: a graph with two payloads of one partition is refused with the gradient's name") {
  test::RoundsRank rank(1, 2, {"int8"});
  Bucket twice = rank.bucket;
  for (Round& round : twice.rounds) round.tasks.insert(round.tasks.end(), round.tasks.begin(), round.tasks.end());
  RoundBucket bucket(twice, rank.runs, rank.settings());
  CHECK(bucket.open(*rank.device).text() ==
        "Unimplemented: gradient layer0: its strategy makes several payloads of a partition, which rounds do not do");
}
