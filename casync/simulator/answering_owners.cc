// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/answering_owners.h"

#include <algorithm>

namespace casync {

void ToldContributions::count(std::size_t taken, std::span<const Rank> answered) {
  taken_ += taken;
  for (std::uint64_t& untold : untold_) untold += taken;
  for (const Rank rank : answered) {
    const auto r = static_cast<std::size_t>(rank);
    told_[r] += std::exchange(untold_[r], 0);
  }
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
  of_gradient_[owned.gradient].push_back(number);
  partitions_.push_back({.owned = std::move(owned),
                         .batches = AnswerBatches(rule_, contributes),
                         .contributes = contributes,
                         .costs = &costs,
                         .early = {},
                         .told = ToldContributions(contributes.size())});
  return number;
}

std::vector<std::size_t> AnsweringOwners::begin(Rank rank, std::uint32_t gradient, std::uint32_t step) {
  std::vector<std::size_t> touched;
  if (gradient >= of_gradient_.size()) return touched;
  for (const std::size_t number : of_gradient_[gradient]) {
    Partition& partition = partitions_[number];
    const bool asks = !partition.contributes[static_cast<std::size_t>(rank)];
    if (partition.owned.owner != rank && !asks) continue;
    touched.push_back(number);
    if (partition.owned.owner != rank) {
      contribute(number, rank, step);
      continue;
    }
    partition.batches.contribute(rank, step);
    partition.begun = true;
    for (const auto& [from, its_step] : std::exchange(partition.early, {}))
      partition.batches.contribute(from, its_step);
  }
  return touched;
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
  for (Partition& partition : partitions_) partition.batches.end(rank);
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
  const HopCosts& costs = *partition.costs;
  const CodecCosts& first = costs[static_cast<std::size_t>(Hop::kFirst)];
  const CodecCosts& second = costs[static_cast<std::size_t>(Hop::kSecond)];
  const CodecCosts* const sum = &costs[static_cast<std::size_t>(Hop::kSum)];
  const std::span<const Rank> taken = partition.batches.taken();
  double seconds = 0;
  for (const Rank rank : taken) {
    if (rank == partition.owned.owner) continue;
    seconds += first.upload(partition.owned.elements) + first.decode(partition.owned.elements);
  }
  double floats = 0;
  for (std::size_t rank = 0; rank < partition.contributes.size(); ++rank) {
    if (partition.batches.contributed(static_cast<Rank>(rank)) == AnswerBatches::kEver || taken.empty()) continue;
    floats += 3.0 * static_cast<double>(taken.size()) - (partition.told.untold(static_cast<Rank>(rank)) == 0 ? 1 : 0);
  }
  seconds += sizeof(float) * floats * static_cast<double>(partition.owned.elements) / memory_bytes_per_second_;
  const double answer = CodecCosts::merge(partition.owned.elements, {&sum, 1}, second);
  for (const Rank rank : partition.batches.answered()) {
    seconds += answer + (rank == partition.owned.owner ? 0 : second.download(partition.owned.elements));
  }
  return seconds;
}

}  // namespace casync
