// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/gather_book.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace casync::runtime {

std::string list_ranks(const std::vector<Rank>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

std::string not_come(const std::string& name, std::vector<Rank> ranks) {
  constexpr std::size_t kMostNamed = 100;
  const std::size_t count = ranks.size();
  ranks.resize(std::min(count, kMostNamed));
  const std::string others = count > kMostNamed ? fmt::format(" and {} more", count - kMostNamed) : "";
  return fmt::format("\"{}\": {}{} {} not come yet", name, list_ranks(ranks), others, count == 1 ? "has" : "have");
}

std::optional<GatherAnswer> GatherBook::call(Rank rank, GatherCall call) {
  const std::uint64_t number = next_[static_cast<std::size_t>(rank)]++;
  auto [place, is_first] = entries_.try_emplace(number);
  Entry& entry = place->second;
  if (is_first) {
    entry.what = call.what;
    entry.first = rank;
    entry.deadline = call.deadline;
  }
  entry.deadline = std::min(entry.deadline, call.deadline);
  entry.blobs[rank] = std::move(call.blob);
  std::optional<GatherAnswer> answer;
  if (entry.failure) {
    answer = fail(entry, *entry.failure);
  } else if (entry.what != call.what) {
    answer = fail(entry, mismatch(number, entry, rank, call.what));
  } else if (entry.called + 1 == ranks()) {
    std::vector<BlobRef> blobs;
    std::vector<Rank> to;
    for (auto& [from, blob] : entry.blobs) {
      to.push_back(from);
      blobs.push_back(std::move(blob));
    }
    answer = GatherAnswer{std::move(to), std::move(blobs)};
  }
  if (++entry.called == ranks()) entries_.erase(place);
  return answer;
}

Status GatherBook::mismatch(std::uint64_t number, const Entry& entry, Rank rank, const std::string& what) const {
  return invalid_argument(
      fmt::format("the ranks do different things: collective call {} is \"{}\" on rank {} and \"{}\" on rank {}",
                  number + 1, entry.what, entry.first, what, rank));
}

GatherAnswer GatherBook::fail(Entry& entry, const Status& why) {
  std::vector<Rank> to;
  for (const auto& [rank, blob] : entry.blobs) to.push_back(rank);
  entry.blobs.clear();
  Status failure = why;  // `why` may be the entry's own
  entry.failure = failure;
  return GatherAnswer{std::move(to), std::move(failure)};
}

std::vector<GatherAnswer> GatherBook::expire(Clock::time_point now) {
  std::vector<GatherAnswer> answers;
  for (auto& [number, entry] : entries_) {
    if (entry.failure || entry.deadline > now) continue;
    answers.push_back(fail(entry, timeout_error(fmt::format("\"{}\" (collective call {}): {} did not come in time",
                                                            entry.what, number + 1, list_ranks(missing(entry))))));
  }
  return answers;
}

std::vector<Rank> GatherBook::missing(const Entry& entry) const {
  std::vector<Rank> missing;
  for (Rank rank = 0; rank < ranks(); ++rank) {
    if (entry.blobs.count(rank) == 0) missing.push_back(rank);
  }
  return missing;
}

std::vector<Rank> GatherBook::missing(const std::string& what) const {
  for (const auto& [number, entry] : entries_) {
    if (!entry.failure && entry.what == what) return missing(entry);
  }
  return {};
}

Clock::time_point GatherBook::next_deadline() const {
  Clock::time_point next = Clock::time_point::max();
  for (const auto& [number, entry] : entries_) {
    if (!entry.failure) next = std::min(next, entry.deadline);
  }
  return next;
}

bool GatherBook::is_waiting(Rank rank) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const auto& e) { return e.second.blobs.count(rank) != 0; });
}

std::string GatherBook::waiting_for() const {
  for (const auto& [number, entry] : entries_) {
    if (!entry.failure) return entry.what;
  }
  return "";
}

}  // namespace casync::runtime
