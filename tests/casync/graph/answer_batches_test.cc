// SPDX-License-Identifier: Apache-2.0
//
// The owner's side where ranks do not step together: who is answered when.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "casync/graph/answer_batches.h"

namespace casync {
namespace {

std::vector<Rank> all(std::span<const Rank> ranks) { return {ranks.begin(), ranks.end()}; }

/// No rank is a dedicated server.
std::vector<bool> everybody(int ranks) { return std::vector<bool>(static_cast<std::size_t>(ranks), true); }

/// Ends the batch, and its answers arrive.
void end(AnswerBatches& batches) {
  batches.finish();
  for (const Rank rank : batches.answered()) batches.left(rank);
}

/// The same rules by a look at all ranks each time.
struct PlainBatches {
  struct Seat {
    bool contributes = true, waits = false, arrived = false, leaving = false, ended = false;
    std::uint32_t contributed = 0, step = 0;
  };

  bool is_due(const Seat& one) const {
    std::uint32_t least = AnswerBatches::kEver, there = 0;
    for (const Seat& other : seats) {
      if (!other.contributes) continue;
      least = std::min(least, other.contributed);
      there += other.contributed > one.step ? 1 : 0;
    }
    if (!one.waits || one.leaving) return false;
    if (!one.contributes) return least > one.step;
    return (!rule.bound || std::uint64_t{least} + *rule.bound > one.step) && there >= rule.first;
  }

  bool begin() {
    taken.clear();
    answered.clear();
    std::uint32_t latest = 0;
    for (std::size_t i = 0; i < seats.size(); ++i) {
      if (!is_due(seats[i])) continue;
      answered.push_back(static_cast<Rank>(i));
      latest = std::max(latest, seats[i].step);
    }
    if (answered.empty()) return false;
    const auto contributes = [](const Seat& one) { return one.contributes; };
    const auto contributors = std::count_if(seats.begin(), seats.end(), contributes);
    const bool is_synchronous = rule.bound == 0u || rule.first >= static_cast<std::uint32_t>(contributors);
    for (std::size_t i = 0; i < seats.size(); ++i) {
      if (!seats[i].arrived || (is_synchronous && seats[i].step > latest)) continue;
      taken.push_back(static_cast<Rank>(i));
      seats[i].arrived = false;
    }
    const auto step_of = [&](Rank rank) { return seats[static_cast<std::size_t>(rank)].step; };
    std::stable_sort(taken.begin(), taken.end(), [&](Rank a, Rank b) { return step_of(a) < step_of(b); });
    return true;
  }

  Asynchronous rule;
  std::vector<Seat> seats;
  std::vector<Rank> taken = {}, answered = {};
};

/// Everything that may happen to batches, at random, to both of them. Returns the number of batches.
std::size_t compare(const Asynchronous& rule, std::mt19937& random) {
  constexpr std::size_t kRanks = 7, kServer = 2;
  std::vector<bool> contributes(kRanks, true);
  contributes[kServer] = false;
  AnswerBatches batches(rule, contributes);
  PlainBatches plain{rule, std::vector<PlainBatches::Seat>(kRanks)};
  plain.seats[kServer].contributes = false;
  bool under_way = false;
  std::size_t begun = 0, ended = 0;
  for (int event = 0; event < 6000; ++event) {
    CAPTURE(event);
    const std::size_t at = random() % kRanks;
    const auto rank = static_cast<Rank>(at);
    PlainBatches::Seat& one = plain.seats[at];
    const std::size_t what = random() % 400;
    if (what == 0 && !under_way) {
      batches.go_to(static_cast<std::uint32_t>(event));
      for (PlainBatches::Seat& seat : plain.seats) {
        seat.waits = seat.arrived = seat.ended = false;
        seat.contributed = static_cast<std::uint32_t>(event);
      }
      ended = 0;
    } else if (what == 1 && !one.waits && !one.ended && ended < 2) {
      batches.end(rank);
      one.contributed = AnswerBatches::kEver;
      one.ended = true;
      ++ended;
    } else if (what < 150 && under_way) {
      batches.finish();
      for (const Rank answered : plain.answered) {
        PlainBatches::Seat& seat = plain.seats[static_cast<std::size_t>(answered)];
        seat.waits = false;
        seat.leaving = true;
      }
      under_way = false;
    } else if (what < 280) {
      batches.left(rank);
      one.leaving = false;
    } else if (!one.waits && !one.ended) {
      const std::uint32_t step = one.contributed;
      batches.contribute(rank, step);
      one.step = step;
      one.contributed = step + 1;
      one.waits = true;
      one.arrived = one.contributes;
    }
    const bool begins = !under_way && plain.begin();
    REQUIRE(batches.begin() == begins);
    if (!begins) continue;
    REQUIRE(all(batches.taken()) == plain.taken);
    REQUIRE(all(batches.answered()) == plain.answered);
    under_way = true;
    ++begun;
  }
  return begun;
}

}  // namespace

TEST_CASE("answer batches: batches are those of a look at all ranks, whatever happens") {
  std::mt19937 random(11);
  for (const Asynchronous& rule :
       {Asynchronous{}, Asynchronous{.bound = 0}, Asynchronous{.bound = 2}, Asynchronous{.bound = 1, .first = 3},
        Asynchronous{.bound = std::nullopt, .first = 4}, Asynchronous{.bound = std::nullopt, .first = 6}}) {
    CAPTURE(rule.first);
    CHECK(compare(rule, random) > 40);
  }
}

TEST_CASE("answer batches: a contribution costs no more among many ranks than among few") {
  constexpr int kRanks = 1024;
  for (const Asynchronous& rule : {Asynchronous{}, Asynchronous{.bound = 0}, Asynchronous{.bound = 3},
                                   Asynchronous{.bound = std::nullopt, .first = kRanks / 2}}) {
    AnswerBatches batches(rule, everybody(kRanks));
    std::uint64_t contributions = 0;
    for (std::uint32_t step = 0; step < 20; ++step) {
      for (Rank rank = 0; rank < kRanks; ++rank) {
        batches.contribute(rank, step);
        ++contributions;
        while (batches.begin()) end(batches);
      }
    }
    CAPTURE(rule.first);
    CHECK(batches.looks() < 8 * contributions);
  }
}

TEST_CASE("answer batches: without a bound a contribution is answered at once, and a batch takes all that came") {
  AnswerBatches batches({}, everybody(3));
  CHECK(!batches.begin());
  batches.contribute(1, 0);
  REQUIRE(batches.begin());
  CHECK(all(batches.taken()) == std::vector<Rank>{1});
  CHECK(all(batches.answered()) == std::vector<Rank>{1});
  batches.contribute(2, 0);
  CHECK(!batches.begin());  // one is under way
  end(batches);
  CHECK(batches.answered_step(1) == 0);
  batches.contribute(1, 1);
  batches.contribute(0, 0);
  REQUIRE(batches.begin());
  CHECK(all(batches.taken()) == std::vector<Rank>{0, 2, 1});  // by step, then by rank
  CHECK(all(batches.answered()) == std::vector<Rank>{0, 1, 2});
}

TEST_CASE("answer batches: an answer waits for the slowest rank by the bound, and says for whom") {
  AnswerBatches batches({.bound = 1}, everybody(3));
  batches.contribute(0, 0);
  REQUIRE(batches.begin());  // rank 2 lags by one step
  end(batches);
  batches.contribute(0, 1);
  CHECK(!batches.begin());
  batches.contribute(1, 0);
  REQUIRE(batches.begin());
  CHECK(all(batches.answered()) == std::vector<Rank>{1});
  end(batches);
  const std::optional<AnswerBatches::Wait> wait = batches.wait_of(0);
  REQUIRE(wait);
  CHECK(wait->slowest == 2);
  CHECK(wait->steps == 0);
  CHECK(wait->step == 1);
  CHECK(!batches.wait_of(1));
  batches.contribute(2, 0);
  REQUIRE(batches.begin());
  CHECK(all(batches.answered()) == std::vector<Rank>{0, 2});
  end(batches);
  batches.contribute(0, 2);
  batches.contribute(1, 1);
  REQUIRE(batches.begin());
  CHECK(all(batches.answered()) == std::vector<Rank>{1});
  end(batches);
  batches.end(2);  // nobody waits for a rank that has ended
  CHECK(batches.begin());
}

TEST_CASE("answer batches: an answer waits for the first ranks, of any step from its own on") {
  AnswerBatches batches({.bound = std::nullopt, .first = 2}, everybody(3));
  batches.contribute(0, 0);
  CHECK(!batches.begin());
  batches.contribute(1, 0);
  REQUIRE(batches.begin());
  CHECK(all(batches.answered()) == std::vector<Rank>{0, 1});
  end(batches);
  batches.contribute(2, 0);
  REQUIRE(batches.begin());  // two ranks are there, or further
  CHECK(all(batches.answered()) == std::vector<Rank>{2});
}

TEST_CASE("answer batches: a rank whose last answer has not left gets no other") {
  AnswerBatches batches({}, everybody(2));
  batches.contribute(0, 0);
  REQUIRE(batches.begin());
  batches.finish();
  batches.contribute(0, 1);
  CHECK(!batches.begin());
  batches.left(0);
  CHECK(batches.begin());
}

TEST_CASE("answer batches: a dedicated server is answered once all others are there, and nobody waits for it") {
  AnswerBatches batches({.bound = 0}, {true, true, false});
  batches.contribute(2, 0);
  CHECK(!batches.begin());
  batches.contribute(0, 0);
  CHECK(!batches.begin());  // rank 1 is not there
  REQUIRE(batches.wait_of(2));
  CHECK(batches.wait_of(2)->slowest == 1);
  batches.contribute(1, 0);
  REQUIRE(batches.begin());
  CHECK(all(batches.taken()) == std::vector<Rank>{0, 1});
  CHECK(all(batches.answered()) == std::vector<Rank>{0, 1, 2});
  end(batches);
  batches.contribute(0, 1);
  batches.contribute(1, 1);
  REQUIRE(batches.begin());  // without the server
  CHECK(all(batches.answered()) == std::vector<Rank>{0, 1});
  end(batches);
  batches.end(0);
  batches.end(1);
  batches.contribute(2, 1);
  CHECK(batches.begin());  // all others have ended
}

TEST_CASE("answer batches: the ranks that are answered are those of the rule's words, whatever came before") {
  constexpr std::size_t kRanks = 6, kServer = 1;
  std::mt19937 random(5);
  for (const Asynchronous& rule :
       {Asynchronous{.bound = 2}, Asynchronous{.bound = std::nullopt, .first = 3}, Asynchronous{.bound = 1, .first = 2},
        Asynchronous{.bound = 3, .first = 4}, Asynchronous{.bound = std::nullopt, .first = 5}}) {
    std::vector<bool> contributes(kRanks, true), waits(kRanks), leaving(kRanks);
    contributes[kServer] = false;
    std::vector<std::uint32_t> contributed(kRanks);
    AnswerBatches batches(rule, contributes);
    const auto is_due = [&](std::size_t rank) {
      if (!waits[rank] || leaving[rank]) return false;
      const std::uint32_t step = contributed[rank] - 1;
      std::uint32_t least = AnswerBatches::kEver, there = 0;
      for (std::size_t i = 0; i < kRanks; ++i) {
        if (!contributes[i]) continue;
        least = std::min(least, contributed[i]);
        there += contributed[i] > step ? 1 : 0;
      }
      if (rank == kServer) return least > step;
      return (!rule.bound || least + *rule.bound > step) && there >= rule.first;
    };
    std::size_t answered = 0, waited = 0;
    for (int event = 0; event < 3000; ++event) {
      const std::size_t rank = random() % kRanks;
      if (leaving[rank] && random() % 2 == 0) {
        batches.left(static_cast<Rank>(rank));
        leaving[rank] = false;
      } else if (!waits[rank]) {
        batches.contribute(static_cast<Rank>(rank), contributed[rank]++);
        waits[rank] = true;
      }
      std::vector<Rank> due;
      for (std::size_t i = 0; i < kRanks; ++i) {
        if (is_due(i)) due.push_back(static_cast<Rank>(i));
        const bool is_late = waits[i] && !leaving[i] && !is_due(i);
        CHECK(batches.wait_of(static_cast<Rank>(i)).has_value() == is_late);
        waited += is_late ? 1 : 0;
      }
      CAPTURE(event, rule.first);
      REQUIRE(batches.begin() == !due.empty());
      if (due.empty()) continue;
      REQUIRE(all(batches.answered()) == due);
      batches.finish();
      for (const Rank one : due) {
        waits[static_cast<std::size_t>(one)] = false;
        leaving[static_cast<std::size_t>(one)] = true;
      }
      answered += due.size();
    }
    CHECK(answered > 100);
    CHECK(waited > 100);
  }
}

// The order of additions decides the last bits of a sum.
TEST_CASE("answer batches: no answer has contributions to a later step if all ranks step together") {
  for (const Asynchronous& rule : {Asynchronous{.bound = 0}, Asynchronous{.bound = std::nullopt, .first = 3}}) {
    AnswerBatches batches(rule, {true, true, true, false});
    for (const Rank rank : {0, 1, 2}) batches.contribute(rank, 0);
    REQUIRE(batches.begin());
    batches.finish();  // the answer to rank 0 is still on its way
    batches.left(1);
    batches.left(2);
    for (const Rank rank : {0, 1, 2}) batches.contribute(rank, 1);
    REQUIRE(batches.begin());
    CHECK(all(batches.answered()) == std::vector<Rank>{1, 2});
    end(batches);
    batches.contribute(2, 2);
    batches.left(0);
    REQUIRE(batches.begin());
    CHECK(all(batches.answered()) == std::vector<Rank>{0});
    CHECK(all(batches.taken()).empty());
    end(batches);
    batches.contribute(3, 1);  // a dedicated server
    REQUIRE(batches.begin());
    CHECK(all(batches.answered()) == std::vector<Rank>{3});
    CHECK(all(batches.taken()).empty());
    end(batches);
    batches.contribute(0, 2);
    batches.contribute(1, 2);
    REQUIRE(batches.begin());
    CHECK(all(batches.taken()) == std::vector<Rank>{0, 1, 2});
  }
}

TEST_CASE("answer batches: a dedicated server is none of the first ranks") {
  AnswerBatches batches({.bound = std::nullopt, .first = 2}, {true, true, false});
  batches.contribute(2, 0);
  batches.contribute(0, 0);
  CHECK(!batches.begin());
  batches.contribute(1, 0);
  CHECK(batches.begin());
}

}  // namespace casync
