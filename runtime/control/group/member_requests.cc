// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/member_requests.h"

#include "base/log.h"
#include "runtime/control/group/faults.h"

namespace casync::runtime {

void MemberRequests::gather(const GatherCall& call) {
  answer_.expect(call.blob);
  send_(FrameType::kGather, encode_gather(call, Clock::now()));
}

void MemberRequests::claim(std::vector<Claim> claims) {
  send_(FrameType::kClaim, encode_claims(claims_.keep(std::move(claims))));
}

void MemberRequests::need(const std::vector<std::string>& names, std::uint32_t step) {
  send_(FrameType::kNeeds, encode_needs({step, names}));
}

void MemberRequests::lack(const std::string& name) { send_(FrameType::kLacks, encode_name(name)); }

void MemberRequests::give_up(const std::string& name) { send_(FrameType::kGiveUp, encode_name(name)); }

void MemberRequests::ask_who_is_late(const std::string& name) { send_(FrameType::kWhoIsLate, encode_name(name)); }

Status MemberRequests::handle(FrameType type, const std::string& bytes) {
  switch (type) {
    case FrameType::kGathered: return handle_gathered(bytes);
    case FrameType::kAllGathered: return handle_all_gathered(bytes);
    case FrameType::kRefused: return handle_refused(bytes);
    case FrameType::kAgreed: return handle_agreed(bytes);
    case FrameType::kAsk: return handle_ask(bytes);
    case FrameType::kNeeded: return handle_needed(bytes);
    case FrameType::kLate: return handle_late(bytes);
    default: return data_loss("a control frame that only members send");
  }
}

void MemberRequests::drop(const Identity& hub) {
  if (answer_.is_expected()) events_.gathered(left_early(hub, "a collective call").cause);
  answer_.drop();
}

Status MemberRequests::handle_gathered(const std::string& bytes) {
  auto gathered = decode_gathered(bytes, ranks_);
  if (!gathered) return gathered.status();
  auto all = answer_.take(*gathered);
  if (!all) return all.status();
  if (*all) events_.gathered(std::move(**all));
  return Status::ok();
}

Status MemberRequests::handle_all_gathered(const std::string& bytes) {
  auto blobs = decode_all_gathered(bytes, ranks_);
  if (!blobs) return blobs.status();
  if (!answer_.is_expected()) return data_loss("blobs that nobody asked for");
  answer_.drop();
  events_.gathered(std::move(*blobs));
  return Status::ok();
}

Status MemberRequests::handle_refused(const std::string& bytes) {
  auto refusal = decode_abort(bytes);
  if (refusal && answer_.is_expected()) events_.gathered(refusal->cause);
  answer_.drop();
  return refusal.status();
}

Status MemberRequests::handle_agreed(const std::string& bytes) {
  const auto agreed = decode_agreement(bytes);
  if (!agreed) return agreed.status();
  Agreement agreement;
  agreement.in_turn = agreed->in_turn;
  for (const std::string_view key : agreed->keys) {
    agreement.names.push_back(claims_.name_of(key));
    if (agreement.names.back().empty()) return data_loss("an agreement about a name that this rank has not claimed");
  }
  events_.agreed(agreement);
  return Status::ok();
}

Status MemberRequests::handle_ask(const std::string& bytes) {
  const auto name = decode_name(bytes);
  if (!name) return name.status();
  const Facts* const facts = claims_.facts_of(*name);
  if (facts == nullptr) return data_loss("a question about a name that this rank has not claimed");
  send_(FrameType::kTold, encode_told(*name, *facts));
  return Status::ok();
}

Status MemberRequests::handle_needed(const std::string& bytes) {
  const auto needs = decode_needs(bytes);
  if (!needs) return needs.status();
  for (const std::string& name : needs->names) events_.needed(name, needs->step);
  return Status::ok();
}

Status MemberRequests::handle_late(const std::string& bytes) const {
  const auto sentence = decode_late(bytes);
  if (!sentence) return sentence.status();
  log().warn("rank {}: {}", self_, *sentence);
  return Status::ok();
}

}  // namespace casync::runtime
