// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/assembly.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "runtime/control/group/gather_book.h"
#include "runtime/control/wire/reminder.h"

namespace casync::runtime {
namespace {

Status two_processes(const Identity& first, const Identity& second) {
  return invalid_argument(fmt::format("two processes have rank {}: pid {} on {} and pid {} on {}", first.rank,
                                      first.pid, first.host, second.pid, second.host));
}

}  // namespace

Assembly::Assembly(const Identity& self, std::uint64_t epoch, Clock::time_point now, Clock::time_point deadline)
    : self_(self), epoch_(epoch), started_(now), deadline_(deadline), remind_at_(now + kFirstReminder), tree_(self) {}

Status Assembly::check(const Identity& who, const Identity* seated) const {
  if (who.protocol != self_.protocol || who.version != self_.version || who.abi != self_.abi) {
    return invalid_argument(fmt::format("the ranks run different builds: {} is {}, {} is {}", self_.text(),
                                        self_.build(), who.text(), who.build()));
  }
  if (who.ranks != self_.ranks) {
    return invalid_argument(fmt::format("the ranks disagree on how many they are: {} says {}, {} says {}", self_.text(),
                                        self_.ranks, who.text(), who.ranks));
  }
  if (who.rank < 0 || who.rank >= self_.ranks) {
    return invalid_argument(fmt::format("{} is outside 0 .. {}", who.text(), self_.ranks - 1));
  }
  const auto here = here_.find(who.rank);
  const bool is_here = !is_complete() && here != here_.end();  // afterwards it may have left
  if (who.rank != 0 && seated == nullptr && !is_here) return Status::ok();
  const Identity& first = who.rank == 0 ? self_ : seated != nullptr ? *seated : here->second;
  return two_processes(first, who);
}

Verdict Assembly::place(const Hello& hello, Clock::time_point now) {
  const Rank parent = tree_.place(hello.who);
  const auto patience = std::chrono::milliseconds(std::min<std::uint64_t>(hello.patience_ms, 1ull << 40));
  deadline_ = std::min(deadline_, now + patience);
  if (parent == 0) return {Verdict::Kind::kWelcome, epoch_, {}};
  std::string addresses;
  if (parent != Tree::kWait) addresses = fmt::format("{}", fmt::join(tree_.addresses_of(parent), " "));
  return {Verdict::Kind::kElsewhere, epoch_, unavailable(addresses)};
}

Status Assembly::take_in(const Identity& who) {
  const auto [first, is_new] = here_.emplace(who.rank, who);
  return !is_new && !first->second.is_process_of(who) ? two_processes(first->second, who) : Status::ok();
}

void Assembly::complete() {
  roster_.push_back(self_);
  for (const auto& [rank, who] : here_) roster_.push_back(who);
}

std::vector<Rank> Assembly::missing() const {
  std::vector<Rank> missing;
  for (Rank rank = 1; rank < self_.ranks; ++rank) {
    if (here_.count(rank) == 0) missing.push_back(rank);
  }
  return missing;
}

Clock::time_point Assembly::remind(Clock::time_point now) {
  if (now < remind_at_) return remind_at_;
  const Seconds waited = now - started_, left = deadline_ - now;
  log().warn("still waiting for {} of {}, after {:.0f} s; {:.0f} s are left", list_ranks(missing()), self_.ranks,
             waited.count(), left.count());
  return remind_at_ = now + (now - started_);
}

Status Assembly::gave_up(Clock::time_point now, const std::string& refused) const {
  const Seconds waited = now - started_;
  return timeout_error(fmt::format("{} of {} did not come within {:.1f} s{}{}", list_ranks(missing()), self_.ranks,
                                   waited.count(), refused.empty() ? "" : "; ", refused));
}

}  // namespace casync::runtime
