// SPDX-License-Identifier: Apache-2.0
// Rank 0 compares the claims of all ranks: digests first, facts only of two ranks that differ.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/control/group/faults.h"
#include "runtime/control/group/hub.h"

namespace casync::runtime {

Status Hub::handle_claim(Rank rank, FrameType type, const std::string& bytes) {
  if (roster_.empty()) return data_loss("a claim out of turn");
  if (type == FrameType::kClaim) {
    auto claims = decode_claims(bytes);
    if (!claims) return claims.status();
    return enter_claims(rank, std::move(*claims)) ? Status::ok() : data_loss("a claim that was made earlier");
  }
  if (type == FrameType::kTold) {
    auto told = decode_told(bytes);
    if (told) take_facts(rank, std::move(*told));
    return told.status();
  }
  if (type == FrameType::kNeeds) {
    const auto needs = decode_needs(bytes);
    if (needs) enter_needs(*needs);
    return needs.status();
  }
  const auto name = decode_name(bytes);
  if (!name) return name.status();
  type == FrameType::kLacks ? refuse_claim(rank, *name) : give_up(*name);
  return Status::ok();
}

void Hub::claim(std::vector<Claim> claims) { enter_claims(0, own_claims_.keep(std::move(claims))); }

/// Returns false if the rank repeats a claim, which no rank of this library does.
bool Hub::enter_claims(Rank rank, std::vector<ClaimDigest> claims) {
  if (over_) return true;
  ClaimBook::Outcome outcome = claims_.claim(rank, std::move(claims));
  if (outcome.repeated) return false;
  for (const Agreement& agreement : outcome.agreements) {
    broadcast(FrameType::kAgreed, encode_agreement(agreement));
    events_.agreed(agreement);
  }
  if (outcome.dispute) open_dispute(*outcome.dispute);
  return true;
}

void Hub::need(const std::vector<std::string>& names, std::uint32_t step) { enter_needs({step, names}); }

void Hub::enter_needs(const Needs& needs) {
  for (const std::string& name : needs.names) {
    if (over_ || !claims_.need(name)) continue;
    for (const Rank rank : claims_.missing(name)) tell_need(rank, name, needs.step);
  }
}

void Hub::tell_need(Rank rank, const std::string& name, std::uint32_t step) {
  if (left_[static_cast<std::size_t>(rank)]) return fail(left_early(roster_[static_cast<std::size_t>(rank)], name));
  if (step == kNoStep) return;
  if (rank == 0) return events_.needed(name, step);
  seats_.send_to(rank, FrameType::kNeeded, encode_needs({step, {name}}));
}

void Hub::refuse_claim(Rank rank, const std::string& name) {
  if (const auto dispute = claims_.refused_by(rank, name)) open_dispute(*dispute);
}

void Hub::give_up(const std::string& name) {
  const std::vector<Rank> missing = claims_.missing(name);
  if (missing.empty()) return;
  fail({-1, timeout_error(fmt::format("\"{}\": {} did not come in time", name, list_ranks(missing)))});
}

/// Asks both ranks for their facts. The first dispute ends the job, so others are not looked at.
void Hub::open_dispute(const Dispute& dispute) {
  if (over_ || dispute_) return;
  dispute_ = dispute;
  if (dispute.other_has_nothing) told_facts_.emplace(dispute.other, Facts());
  for (const Rank rank : {dispute.one, dispute.other}) {
    if (told_facts_.count(rank) != 0) continue;
    if (rank == 0) {
      told_facts_.emplace(rank, *own_claims_.facts_of(dispute.name));
    } else {
      seats_.send_to(rank, FrameType::kAsk, encode_name(dispute.name));
    }
  }
  settle_dispute();
}

void Hub::take_facts(Rank rank, Claim claim) {
  if (!dispute_ || claim.name != dispute_->name) return;
  told_facts_.emplace(rank, std::move(claim.facts));
  settle_dispute();
}

void Hub::settle_dispute() {
  const auto [low, high] = std::minmax(dispute_->one, dispute_->other);
  const auto one = told_facts_.find(low), other = told_facts_.find(high);
  if (one == told_facts_.end() || other == told_facts_.end()) return;
  const std::string difference = first_difference({low, one->second}, {high, other->second});
  fail({-1, invalid_argument(fmt::format("the ranks do not agree: {}",
                                         difference.empty() ? dispute_->name + " has two digests" : difference))});
}

}  // namespace casync::runtime
