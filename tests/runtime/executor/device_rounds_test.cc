// SPDX-License-Identifier: Apache-2.0
//
// Two ranks whose gradients go through rounds, call by call, on a device that is the host.
#include "runtime/executor/device_rounds.h"

#include <catch2/catch.hpp>

#include "base/allocation_count.h"
#include "tests/runtime/executor/one_rank.h"
#include "tests/runtime/executor/rounds_ranks.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// One of two ranks. A call of its transport is in the stream when the job has carried it out.
struct DeviceSide {
  DeviceSide(Rank self, const std::vector<std::string>& codecs, Transport& waker)
      : rank(self, 2, codecs), rounds(*rank.device, {5, 0.5f, 1}, waker) {
    REQUIRE(rounds.open([this](Stream&) -> Result<std::unique_ptr<RoundTransport>> {
      auto made = std::make_unique<test::HeldRounds>();
      held = made.get();
      return std::unique_ptr<RoundTransport>(std::move(made));
    }));
    std::vector<GradientRun*> all;
    for (GradientRun* gradient : rank.runs) gradient->for_each([&](GradientRun& one) { all.push_back(&one); });
    REQUIRE(rounds.take_in(all).text() == "OK");
  }
  void begin(std::size_t gradient) { REQUIRE(rounds.begin(*rank.runs[gradient])); }
  /// Goes on as far as it can; returns true if a call is under way then.
  bool goes_to_call() {
    while (*rounds.progress()) {
      if (rounds.is_starting()) held->is_in_stream = false;
    }
    while (rounds.take_done() != nullptr) ++done;
    return rounds.is_starting();
  }

  test::RoundsRank rank;
  DeviceRounds rounds;
  test::HeldRounds* held = nullptr;
  std::size_t done = 0;
};

struct Job {
  Job(std::uint64_t epoch, const std::vector<std::string>& codecs)
      : ranks(test::make_ranks(1, epoch)),
        sides{DeviceSide(0, codecs, *ranks[0]->transport), DeviceSide(1, codecs, *ranks[0]->transport)} {}
  /// Elements of rank 0 are `value`, those of rank 1 three times as large.
  void submit(std::uint32_t step, float value) {
    for (DeviceSide& side : sides) {
      side.rank.begin(step, &side == sides ? value : 3 * value);
      side.done = 0;
      for (std::size_t i = side.rank.runs.size(); i-- > 0;) side.begin(i);
    }
  }
  void run() {
    while (sides[0].goes_to_call()) {
      REQUIRE(sides[1].goes_to_call());
      test::join(*sides[0].held, *sides[1].held);
      for (DeviceSide& side : sides) side.held->is_in_stream = true;
    }
    REQUIRE_FALSE(sides[1].goes_to_call());
  }

  std::vector<std::unique_ptr<test::OneRank>> ranks;
  DeviceSide sides[2];
};

const std::vector<std::string> kCodecs{"int8", "", "powersgd", "none"};

}  // namespace

TEST_CASE("device rounds: gradients that are submitted in any order get the mean, step after step") {
  Job job(920, kCodecs);
  for (std::uint32_t step = 0; step < 3; ++step) {
    const auto value = static_cast<float>(step + 1);
    job.submit(step, value);
    CHECK_FALSE(job.sides[0].rounds.is_under_way());
    job.run();
    for (DeviceSide& side : job.sides) {
      CHECK(side.done == kCodecs.size());
      CHECK_FALSE(side.rounds.is_under_way());
      for (std::size_t g = 0; g < kCodecs.size(); ++g) {
        INFO(kCodecs[g]);
        for (const float x : side.rank.values[g]) REQUIRE(x == Approx(2 * value).epsilon(1e-3));
      }
    }
  }
  const TransportStats stats = job.sides[0].rounds.stats();
  CHECK(stats.messages_sent > 0);
  CHECK(stats.messages_sent == job.sides[1].rounds.stats().messages_received);
  CHECK(stats.wire_bytes_sent == stats.payload_bytes_sent);
  CHECK(job.sides[0].rounds.description() == "held");
}

TEST_CASE("device rounds: one that is not submitted keeps later ones, and is named") {
  Job job(921, {"int8", "int8", "int8"});
  DeviceSide& side = job.sides[0];
  side.rank.begin(0, 1);
  side.begin(2);
  side.begin(1);
  CHECK_FALSE(side.goes_to_call());
  CHECK(side.rounds.missing(*side.rank.runs[2]) ==
        "gradient layer0, which was declared earlier or travels with it, was not submitted here: over held all ranks "
        "exchange gradients in one order");
  side.begin(0);
  CHECK(side.goes_to_call());
  CHECK(side.rounds.is_under_way());
  CHECK(side.rounds.missing(*side.rank.runs[0]) ==
        "its rounds are queued, and some rank has not come to them: a gradient was not submitted there");
}

TEST_CASE("device rounds: a step begins once the last one is over, and may have its number if that is forgotten") {
  Job job(922, {"int8"});
  job.submit(0, 1);
  CHECK(job.sides[0].goes_to_call());
  job.sides[0].rank.begin(1, 1);
  CHECK(job.sides[0].rounds.begin(*job.sides[0].rank.runs[0]).text() ==
        "Internal: gradient layer0: step 1 begins while rounds of the previous step are under way");
  Job other(923, {"int8"});
  for (const float value : {1.0f, 2.0f}) {
    other.submit(4, value);
    other.run();
    CHECK(other.sides[1].done == 1);
    for (DeviceSide& side : other.sides) side.rounds.forget_step();
  }
  CHECK(other.sides[1].rank.values[0][0] == Approx(4).epsilon(1e-3));
}

TEST_CASE("device rounds: a steady step allocates nothing") {
  Job job(924, kCodecs);
  for (std::uint32_t step = 0; step < 4; ++step) {
    job.submit(step, 1);
    const std::uint64_t before = allocations_of_this_thread();
    const bool calls = job.sides[0].goes_to_call();
    const std::uint64_t allocated = allocations_of_this_thread() - before;
    CHECK(calls);
    if (step >= 2) CHECK(allocated == 0);
    job.run();
  }
}

TEST_CASE("device rounds: a failure of the transport is the answer, and its end is by abort") {
  Job job(925, {"int8"});
  job.submit(0, 1);
  DeviceSide& side = job.sides[0];
  side.held->answer = peer_failure("rank 1 is gone");
  CHECK(side.rounds.progress().status().text() == "PeerFailure: gradient layer0, step 0: rank 1 is gone");
  CHECK(side.rounds.come_to_rest(after(Seconds(60))));
  CHECK(side.held->is_aborted);
  job.sides[1].held->ends_by_abort = false;
  CHECK_FALSE(job.sides[1].rounds.come_to_rest(after(Seconds(0))));
}

TEST_CASE("device rounds: what is missing, and what was sent, is told even after a device has not come to rest") {
  Job job(926, kCodecs);
  job.submit(0, 1);
  job.run();
  DeviceSide& side = job.sides[0];
  const std::uint64_t sent = side.rounds.stats().messages_sent;
  CHECK(sent > 0);
  side.rank.begin(1, 1);
  side.begin(1);
  side.held->ends_by_abort = false;
  CHECK_FALSE(side.rounds.come_to_rest(after(Seconds(0))));
  CHECK(side.rounds.stats().messages_sent == sent);
  CHECK(side.rounds.missing(*side.rank.runs[1]) ==
        "gradient layer0, which was declared earlier or travels with it, was not submitted here: over held all ranks "
        "exchange gradients in one order");
}
