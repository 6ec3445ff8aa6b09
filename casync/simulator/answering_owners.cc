// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/answering_owners.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace casync {

void ToldContributions::count(std::size_t taken, std::span<const Rank> answered) {
  taken_ += taken;
  if (taken > 0) told_all_ = 0;
  for (const Rank rank : answered) {
    OfRank& one = ranks_[static_cast<std::size_t>(rank)];
    if (!one.ended && one.told != taken_) ++told_all_;
    one.told = taken_;
  }
}

void ToldContributions::end(Rank rank) {
  OfRank& one = ranks_[static_cast<std::size_t>(rank)];
  if (std::exchange(one.ended, true)) return;
  --remaining_;
  if (one.told == taken_) --told_all_;
}

std::size_t AnsweringOwners::add(Owned owned, const std::vector<bool>& contributes,
                                 std::span<const std::uint32_t> contributions, const HopCosts& costs) {
  const std::size_t number = partitions_.size();
  const auto note = [&](std::uint32_t task) {
    if (task == kNoTask) return;
    if (partition_of_.size() <= task) partition_of_.resize(task + 1);
    partition_of_[task] = number;
  };
  note(owned.batch);
  for (const std::uint32_t task : owned.answers) note(task);
  for (const std::uint32_t task : contributions) note(task);
  if (of_gradient_.size() <= owned.gradient) of_gradient_.resize(owned.gradient + 1);
  std::vector<std::size_t>& of_gradient = of_gradient_[owned.gradient];
  CASYNC_CHECK(of_gradient.empty() || partitions_[of_gradient.back()].owned.owner <= owned.owner);
  of_gradient.push_back(number);
  const CodecCosts& first = costs[static_cast<std::size_t>(Hop::kFirst)];
  const CodecCosts& second = costs[static_cast<std::size_t>(Hop::kSecond)];
  const CodecCosts* const sum = &costs[static_cast<std::size_t>(Hop::kSum)];
  const Elements elements = owned.elements;
  partitions_.push_back({.owned = std::move(owned),
                         .batches = AnswerBatches(rule_, contributes),
                         .contributes = contributes,
                         .code_s = first.upload(elements) + first.decode(elements),
                         .answer_s = CodecCosts::merge(elements, {&sum, 1}, second),
                         .download_s = second.download(elements),
                         .early = {},
                         .told = ToldContributions(contributes.size())});
  return number;
}

/// The partitions of a gradient that `rank` owns.
std::span<const std::size_t> AnsweringOwners::owned_by(Rank rank, std::uint32_t gradient) const {
  const std::vector<std::size_t>& all = of_gradient_[gradient];
  const auto is_below = [&](std::size_t number, Rank owner) { return partitions_[number].owned.owner < owner; };
  const auto first = std::lower_bound(all.begin(), all.end(), rank, is_below);
  return {first, std::lower_bound(first, all.end(), rank + 1, is_below)};
}

std::vector<std::size_t> AnsweringOwners::begin(Rank rank, std::uint32_t gradient, std::uint32_t step) {
  if (gradient >= of_gradient_.size() || of_gradient_[gradient].empty()) return {};
  const std::vector<std::size_t>& all = of_gradient_[gradient];
  const bool asks = !partitions_[all.front()].contributes[static_cast<std::size_t>(rank)];
  const std::span<const std::size_t> touched = asks ? std::span(all) : owned_by(rank, gradient);
  for (const std::size_t number : touched) {
    Partition& partition = partitions_[number];
    if (partition.owned.owner != rank) {
      contribute(number, rank, step);
      continue;
    }
    partition.batches.contribute(rank, step);
    partition.begun = true;
    for (const auto& [from, its_step] : std::exchange(partition.early, {}))
      partition.batches.contribute(from, its_step);
  }
  return {touched.begin(), touched.end()};
}

void AnsweringOwners::contribute(std::size_t partition, Rank rank, std::uint32_t step) {
  Partition& own = partitions_[partition];
  if (own.begun) {
    own.batches.contribute(rank, step);
  } else {
    own.early.emplace_back(rank, step);
  }
}

void AnsweringOwners::end(Rank rank) {
  for (Partition& partition : partitions_) {
    partition.batches.end(rank);
    partition.told.end(rank);
  }
}

bool AnsweringOwners::begin_batch(std::size_t partition) {
  Partition& own = partitions_[partition];
  if (!own.batches.begin()) return false;
  own.seconds = seconds_of_batch(own);
  own.told.count(own.batches.taken().size(), own.batches.answered());
  return true;
}

std::uint32_t AnsweringOwners::answered_step(std::size_t partition) const {
  const AnswerBatches& batches = partitions_[partition].batches;
  return batches.answered_step(batches.answered().front());
}

std::span<const Rank> AnsweringOwners::finish(std::size_t partition) {
  AnswerBatches& batches = partitions_[partition].batches;
  batches.finish();
  return batches.answered();
}

/// A contribution is copied into an empty sum, and added to another one: it is read, and the sum written or changed. On
/// a GPU, the copies of other ranks' codes and answers are part of the batch.
double AnsweringOwners::seconds_of_batch(const Partition& partition) const {
  const std::span<const Rank> taken = partition.batches.taken();
  double seconds = 0;
  for (const Rank rank : taken) {
    if (rank != partition.owned.owner) seconds += partition.code_s;
  }
  if (!taken.empty()) {
    const double floats = 3.0 * static_cast<double>(taken.size()) * static_cast<double>(partition.told.remaining()) -
                          static_cast<double>(partition.told.told_all());
    seconds += sizeof(float) * floats * static_cast<double>(partition.owned.elements) / memory_bytes_per_second_;
  }
  for (const Rank rank : partition.batches.answered()) {
    seconds += partition.answer_s + (rank == partition.owned.owner ? 0 : partition.download_s);
  }
  return seconds;
}

}  // namespace casync
