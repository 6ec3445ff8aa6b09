// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/rank_arrivals.h"

#include <algorithm>
#include <utility>

#include "runtime/control/group/tree.h"

namespace casync::runtime {

RankArrivals::RankArrivals(const Identity& self, std::uint64_t epoch, Clock::time_point deadline,
                           std::optional<Door> door, Seats& seats, Ending& ending, Events events)
    : ranks_(self.ranks),
      door_(std::move(door)),
      seats_(seats),
      ending_(ending),
      events_(std::move(events)),
      assembly_(self, epoch, Clock::now(), deadline) {}

void RankArrivals::attach(PollSet& set) {
  if (!door_) return;
  door_->attach(
      set, [this](const Hello& hello) { return judge(hello); },
      [this](const Identity& who, Connection connection) { admit(who, std::move(connection)); });
}

Verdict RankArrivals::judge(const Hello& hello) {
  const bool complete = assembly_.is_complete();
  // A job that failed while it came together tells everyone the same; one that ran is the wrong one to ask, and
  // the caller looks for the address of its own.
  if (ending_.has_begun() && !complete) {
    ending_.told(hello.who.rank);
    return {Verdict::Kind::kRefused, 0, ending_.abort().cause};
  }
  if (ending_.has_begun()) return {Verdict::Kind::kTryAgain, 0, aborted("the job that listens here is over")};
  Status refusal = assembly_.check(hello.who, seats_.find(hello.who.rank));
  // All were here once: nobody comes in any more, not even to the place of one that has left.
  if (complete && refusal) refusal = aborted("the job that listens here has begun without " + hello.who.text());
  if (complete) return {Verdict::Kind::kTryAgain, 0, refusal};
  if (refusal) return assembly_.place(hello, Clock::now());
  ending_.told(hello.who.rank);
  events_.failed(refusal);
  return {Verdict::Kind::kRefused, 0, refusal};
}

void RankArrivals::admit(const Identity& who, Connection connection) {
  seats_.admit(who, std::move(connection));
  if (ranks_ <= kStarRanks) take_in(who);
}

void RankArrivals::take_in(const Identity& who) {
  if (assembly_.is_complete() || ending_.has_begun()) return;
  if (const Status refusal = assembly_.take_in(who); !refusal) return events_.failed(refusal);
  if (assembly_.has_all()) complete();
}

void RankArrivals::complete() {
  assembly_.complete();
  events_.complete(assembly_.roster());
}

void RankArrivals::take_in(Here here) {
  const Identity who = here.who;
  assembly_.listens(std::move(here));
  take_in(who);
}

Clock::time_point RankArrivals::tend(Clock::time_point now) {
  if (assembly_.is_complete() || ending_.has_begun()) return Clock::time_point::max();
  if (ranks_ == 1) {
    complete();
  } else if (now >= assembly_.deadline()) {
    events_.failed(assembly_.gave_up(Clock::now(), door_->refused_summary()));
  } else {
    return std::min(assembly_.deadline(), assembly_.remind(now));
  }
  return Clock::time_point::max();
}

Clock::time_point RankArrivals::tend_door(Clock::time_point now) {
  return door_ ? door_->tend(now) : Clock::time_point::max();
}

void RankArrivals::close_door() {
  if (door_) door_->close();
}

}  // namespace casync::runtime
