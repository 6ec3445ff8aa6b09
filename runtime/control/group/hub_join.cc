// SPDX-License-Identifier: Apache-2.0
// Rank 0 while the ranks join: which callers it admits, and what it reports when ranks are missing.
#include <fmt/format.h>

#include "base/log.h"
#include "runtime/control/group/faults.h"
#include "runtime/control/group/hub.h"

namespace casync::runtime {

namespace {

Status two_processes(const Identity& first, const Identity& second) {
  return invalid_argument(fmt::format("two processes have rank {}: pid {} on {} and pid {} on {}", first.rank,
                                      first.pid, first.host, second.pid, second.host));
}

}  // namespace

Verdict Hub::judge(const Hello& hello) {
  const bool complete = !roster_.empty();
  // A job that failed while it came together tells everyone the same; one that ran is the wrong one to ask, and
  // the caller looks for the address of its own.
  if (over_ && !complete) {
    told_.insert(hello.who.rank);
    return {Verdict::Kind::kRefused, 0, over_->cause};
  }
  if (over_) return {Verdict::Kind::kTryAgain, 0, aborted("the job that listens here is over")};
  Status refusal = check_newcomer(hello.who);
  // All were here once: nobody comes in any more, not even to the place of one that has left.
  if (complete && refusal) refusal = aborted("the job that listens here has begun without " + hello.who.text());
  if (complete) return {Verdict::Kind::kTryAgain, 0, refusal};
  if (!refusal) {
    told_.insert(hello.who.rank);
    fail({-1, refusal});
    return {Verdict::Kind::kRefused, 0, refusal};
  }
  // The rank that started first gives up first; from then on no rank needs to wait.
  const Verdict verdict = place(hello.who);
  const auto patience = std::chrono::milliseconds(std::min<std::uint64_t>(hello.patience_ms, 1ull << 40));
  options_.join_deadline = std::min(options_.join_deadline, Clock::now() + patience);
  return verdict;
}

/// Places a newcomer. In a large job most ranks go to another rank.
Verdict Hub::place(const Identity& who) {
  const Rank parent = tree_.place(who);
  if (parent == 0) return {Verdict::Kind::kWelcome, options_.epoch, {}};
  std::string addresses;
  if (parent != Tree::kWait) addresses = fmt::format("{}", fmt::join(tree_.addresses_of(parent), " "));
  return {Verdict::Kind::kElsewhere, options_.epoch, unavailable(addresses)};
}

Status Hub::check_newcomer(const Identity& who) const {
  const Identity& self = options_.self;
  if (who.protocol != self.protocol || who.version != self.version || who.abi != self.abi) {
    return invalid_argument(fmt::format("the ranks run different builds: {} is {}, {} is {}", self.text(), self.build(),
                                        who.text(), who.build()));
  }
  if (who.ranks != self.ranks) {
    return invalid_argument(fmt::format("the ranks disagree on how many they are: {} says {}, {} says {}", self.text(),
                                        self.ranks, who.text(), who.ranks));
  }
  if (who.rank < 0 || who.rank >= self.ranks) {
    return invalid_argument(fmt::format("{} is outside 0 .. {}", who.text(), self.ranks - 1));
  }
  const Identity* const seat = seats_.find(who.rank);
  const auto here = here_.find(who.rank);
  const bool is_here = roster_.empty() && here != here_.end();  // afterwards it may have left
  if (who.rank != 0 && seat == nullptr && !is_here) return Status::ok();
  const Identity& first = who.rank == 0 ? self : seat != nullptr ? *seat : here->second;
  return two_processes(first, who);
}

void Hub::admit(const Identity& who, Connection connection) {
  seats_.admit(who, std::move(connection));
  if (options_.self.ranks <= kStarRanks) take_in(who);
}

void Hub::take_in(const Identity& who) {
  if (!roster_.empty() || over_) return;
  const auto [first, is_new] = here_.emplace(who.rank, who);
  if (!is_new && (first->second.pid != who.pid || first->second.host != who.host)) {
    return fail({-1, two_processes(first->second, who)});
  }
  if (static_cast<int>(here_.size()) + 1 == options_.self.ranks) complete();
}

void Hub::complete() {
  roster_.push_back(options_.self);
  for (const auto& [rank, who] : here_) roster_.push_back(who);
  broadcast(FrameType::kReady, encode_roster(roster_));
  events_.joined(roster_);
}

std::vector<Rank> Hub::missing_ranks() const {
  std::vector<Rank> missing;
  for (Rank rank = 1; rank < options_.self.ranks; ++rank) {
    if (here_.count(rank) == 0) missing.push_back(rank);
  }
  return missing;
}

/// Says whom the job waits for, ever more seldom. Returns when it will again.
Clock::time_point Hub::remind(Clock::time_point now) {
  if (now < remind_at_) return remind_at_;
  const Seconds waited = now - started_, left = options_.join_deadline - now;
  log().warn("still waiting for {} of {}, after {:.0f} s; {:.0f} s are left", list_ranks(missing_ranks()),
             options_.self.ranks, waited.count(), left.count());
  return remind_at_ = now + (now - started_);
}

void Hub::give_up_joining() {
  const Seconds waited = Clock::now() - started_;
  std::string text = fmt::format("{} of {} did not come within {:.1f} s", list_ranks(missing_ranks()),
                                 options_.self.ranks, waited.count());
  const std::string refused = door_->refused_summary();
  if (!refused.empty()) text += "; " + refused;
  fail({-1, timeout_error(text)});
}

/// Reports the end to the group, and with it closes the door: when everyone knows the reason, or after a while.
Clock::time_point Hub::farewell(Clock::time_point now) {
  if (!over_ || report_at_ == Clock::time_point::max()) return Clock::time_point::max();
  if (now < report_at_ && static_cast<int>(told_.size()) + 1 < options_.self.ranks) return report_at_;
  report_at_ = Clock::time_point::max();
  events_.failed(cause_for(0, *over_));
  return report_at_;
}

}  // namespace casync::runtime
