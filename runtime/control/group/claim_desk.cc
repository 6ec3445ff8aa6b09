// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/claim_desk.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/control/group/gather_book.h"

namespace casync::runtime {
namespace {

// Limit of a rank that is asked for its facts. It has them at hand; one that ends its session may not hear the
// question.
constexpr Seconds kFactsTime{5};

}  // namespace

Status ClaimDesk::handle(Rank rank, FrameType type, const std::string& bytes) {
  if (type == FrameType::kClaim) {
    auto claims = decode_claims(bytes);
    if (!claims) return claims.status();
    return enter(rank, std::move(*claims)) ? Status::ok() : data_loss("a claim that was made earlier");
  }
  if (type == FrameType::kTold) {
    auto told = decode_told(bytes);
    if (told) take_facts(rank, std::move(*told));
    return told.status();
  }
  if (type == FrameType::kNeeds) {
    const auto needs = decode_needs(bytes);
    if (needs) need(*needs);
    return needs.status();
  }
  const auto name = decode_name(bytes);
  if (!name) return name.status();
  type == FrameType::kLacks ? lack(rank, *name) : give_up(*name);
  return Status::ok();
}

/// Returns false if the rank repeats a claim, which no rank of this library does.
bool ClaimDesk::enter(Rank rank, std::vector<ClaimDigest> claims) {
  if (closed_) return true;
  ClaimBook::Outcome outcome = book_.claim(rank, std::move(claims));
  if (outcome.repeated) return false;
  for (const Agreement& agreement : outcome.agreements) events_.agreed(agreement);
  if (outcome.dispute) open_dispute(*outcome.dispute);
  return true;
}

void ClaimDesk::need(const Needs& needs) {
  for (const std::string& name : needs.names) {
    if (closed_ || !book_.need(name)) continue;
    for (const Rank rank : book_.missing(name)) events_.missed(rank, name, needs.step);
  }
}

void ClaimDesk::lack(Rank rank, const std::string& name) {
  if (const auto dispute = book_.refused_by(rank, name)) open_dispute(*dispute);
}

void ClaimDesk::give_up(const std::string& name) {
  if (closed_) return;
  if (dispute_) return settle_without_facts();
  const std::vector<Rank> missing = book_.missing(name);
  if (missing.empty()) return;
  events_.failed(timeout_error(fmt::format("\"{}\": {} did not come in time", name, list_ranks(missing))));
}

/// Asks both ranks for their facts. The first dispute ends the job, so others are not looked at.
void ClaimDesk::open_dispute(const Dispute& dispute) {
  if (closed_ || dispute_) return;
  dispute_ = dispute;
  facts_due_ = after(kFactsTime);
  if (dispute.other_has_nothing) told_.emplace(dispute.other, Facts());
  for (const Rank rank : {dispute.one, dispute.other}) {
    if (told_.count(rank) != 0) continue;
    if (rank == 0) {
      told_.emplace(rank, *own_.facts_of(dispute.name));
    } else {
      events_.asked(rank, dispute.name);
    }
  }
  settle_dispute();
}

void ClaimDesk::take_facts(Rank rank, Claim claim) {
  if (!dispute_ || claim.name != dispute_->name) return;
  told_.emplace(rank, std::move(claim.facts));
  settle_dispute();
}

void ClaimDesk::settle_dispute() {
  const auto [low, high] = std::minmax(dispute_->one, dispute_->other);
  const auto one = told_.find(low), other = told_.find(high);
  if (one == told_.end() || other == told_.end()) return;
  const std::string difference = first_difference({low, one->second}, {high, other->second});
  events_.failed(invalid_argument(fmt::format("the ranks do not agree: {}",
                                              difference.empty() ? dispute_->name + " has two digests" : difference)));
}

Clock::time_point ClaimDesk::tend(Clock::time_point now) {
  if (closed_) return Clock::time_point::max();
  if (now >= facts_due_) {
    facts_due_ = Clock::time_point::max();
    settle_without_facts();
  }
  return facts_due_;
}

/// Says as much of the dispute as is known.
void ClaimDesk::settle_without_facts() {
  const auto [low, high] = std::minmax(dispute_->one, dispute_->other);
  std::vector<Rank> silent;
  for (const Rank rank : {low, high}) {
    if (told_.count(rank) == 0) silent.push_back(rank);
  }
  events_.failed(invalid_argument(
      fmt::format("the ranks do not agree: rank {} and rank {} differ in \"{}\", and {} did not say its values", low,
                  high, dispute_->name, list_ranks(silent))));
}

}  // namespace casync::runtime
