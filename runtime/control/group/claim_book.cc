// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/claim_book.h"

#include <algorithm>
#include <utility>

#include "runtime/control/wire/crypto.h"
#include "runtime/control/wire/wire.h"

namespace casync::runtime {

ClaimBook::ClaimBook(int ranks) : histories_(static_cast<std::size_t>(ranks)) {}

ClaimBook::Outcome ClaimBook::claim(Rank rank, std::vector<ClaimDigest> claims) {
  std::sort(claims.begin(), claims.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  Outcome outcome;
  outcome.repeated = is_repeated(rank, claims);
  if (outcome.repeated) return outcome;
  extend_history(rank, claims);
  Agreement in_turn, others;
  others.in_turn = false;
  for (const ClaimDigest& claim : claims) {
    if (!enter(rank, claim)) {
      if (!outcome.dispute) outcome.dispute = Dispute{claim.name, open_.at(claim.name).first, rank};
      continue;
    }
    const Entry& entry = open_.at(claim.name);
    if (entry.count < ranks()) continue;
    (entry.same_history ? in_turn : others).names.push_back(claim.name);
    agreed_.insert(claim.name);
    open_.erase(claim.name);
  }
  for (Agreement* agreement : {&in_turn, &others}) {
    if (!agreement->names.empty()) outcome.agreements.push_back(std::move(*agreement));
  }
  return outcome;
}

bool ClaimBook::is_repeated(Rank rank, const std::vector<ClaimDigest>& claims) const {
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const std::string& name = claims[i].name;
    if (i > 0 && claims[i - 1].name == name) return true;
    if (agreed_.count(name) != 0) return true;
    const auto entry = open_.find(name);
    if (entry != open_.end() && entry->second.here[static_cast<std::size_t>(rank)]) return true;
  }
  return false;
}

void ClaimBook::extend_history(Rank rank, const std::vector<ClaimDigest>& claims) {
  WireWriter writer;
  std::string& history = histories_[static_cast<std::size_t>(rank)];
  writer.text(history);
  for (const ClaimDigest& claim : claims) writer.text(claim.name).text(claim.digest);
  history = sha256(writer.take());
}

bool ClaimBook::enter(Rank rank, const ClaimDigest& claim) {
  const std::string& history = histories_[static_cast<std::size_t>(rank)];
  const auto [place, is_first] = open_.try_emplace(claim.name);
  Entry& entry = place->second;
  if (is_first) {
    entry.digest = claim.digest;
    entry.first = rank;
    entry.history = history;
    entry.here.resize(histories_.size());
  }
  if (entry.digest != claim.digest) return false;
  entry.same_history = entry.same_history && entry.history == history;
  entry.here[static_cast<std::size_t>(rank)] = true;
  ++entry.count;
  return true;
}

bool ClaimBook::need(const std::string& name) {
  const auto entry = open_.find(name);
  return entry != open_.end() && !std::exchange(entry->second.needed, true);
}

std::vector<Rank> ClaimBook::missing(const std::string& name) const {
  std::vector<Rank> missing;
  const auto entry = open_.find(name);
  if (entry == open_.end()) return missing;
  for (Rank rank = 0; rank < ranks(); ++rank) {
    if (!entry->second.here[static_cast<std::size_t>(rank)]) missing.push_back(rank);
  }
  return missing;
}

std::optional<Dispute> ClaimBook::refused_by(Rank rank, const std::string& name) const {
  const auto entry = open_.find(name);
  if (entry == open_.end() || entry->second.here[static_cast<std::size_t>(rank)]) return std::nullopt;
  return Dispute{name, entry->second.first, rank, true};
}

std::string ClaimBook::needed_from(Rank rank) const {
  for (const auto& [name, entry] : open_) {
    if (entry.needed && !entry.here[static_cast<std::size_t>(rank)]) return name;
  }
  return "";
}

}  // namespace casync::runtime
