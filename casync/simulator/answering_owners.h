// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "casync/graph/answer_batches.h"
#include "casync/simulator/flat_tasks.h"

namespace casync {

/// Contributions to one partition that batches have taken, and the ranks that have been told of them.
class ToldContributions {
 public:
  explicit ToldContributions(std::size_t ranks) : ranks_(ranks), remaining_(ranks), told_all_(ranks) {}

  /// A batch takes so many contributions and answers these ranks.
  void count(std::size_t taken, std::span<const Rank> answered);
  /// `rank` gets no more answers.
  void end(Rank rank);

  std::uint64_t taken() const { return taken_; }
  /// The taken contributions that `rank` has been told of, and the others.
  std::uint64_t told(Rank rank) const { return ranks_[static_cast<std::size_t>(rank)].told; }
  std::uint64_t untold(Rank rank) const { return taken_ - told(rank); }
  /// The number of ranks that have not ended, and of those among them that have been told of all.
  std::size_t remaining() const { return remaining_; }
  std::size_t told_all() const { return told_all_; }

 private:
  struct OfRank {
    std::uint64_t told = 0;
    bool ended = false;
  };
  std::uint64_t taken_ = 0;
  std::vector<OfRank> ranks_;
  std::size_t remaining_, told_all_;
};

/// The owners of partitions where ranks do not step together: when they answer which rank, by the runtime's own rules,
/// and how many seconds an answer takes. A contribution is added to the sum of each rank that has not been told of it,
/// and an answer is the code of one sum (runtime/executor/untold_sums.h). Contributions that come until the owner
/// begins its first step wait for that.
class AnsweringOwners {
 public:
  /// One partition, and the tasks of its owner.
  struct Owned {
    Rank owner = 0;
    std::uint32_t gradient = 0;
    Elements elements = 0;
    std::uint32_t batch = kNoTask;       ///< takes contributions and makes answers
    std::uint32_t own_answer = kNoTask;  ///< of the owner's own step: its answer is there
    std::vector<std::uint32_t> answers;  ///< by rank: the send of its answer; kNoTask for the owner
  };

  /// `memory_bytes_per_second`: what additions are priced by.
  AnsweringOwners(const Asynchronous& rule, double memory_bytes_per_second)
      : rule_(rule), memory_bytes_per_second_(memory_bytes_per_second) {}

  /// Takes in a partition; returns its number. Those of a gradient come in the order of their owners. `contributes`, by
  /// rank: false for dedicated servers. `contributions`: the recvs of contributions to it.
  std::size_t add(Owned owned, const std::vector<bool>& contributes, std::span<const std::uint32_t> contributions,
                  const HopCosts& costs);

  std::size_t size() const { return partitions_.size(); }
  const Owned& owned(std::size_t partition) const { return partitions_[partition].owned; }
  /// The partition of a task of its owner's.
  std::size_t partition_of(std::uint32_t task) const { return partition_of_[task]; }

  /// `rank` begins `step` with a gradient: contributes to the partitions that it owns; a dedicated server asks the
  /// other owners, too. Returns those partitions, of which batches may be due.
  std::vector<std::size_t> begin(Rank rank, std::uint32_t gradient, std::uint32_t step);
  /// The contribution of another rank to `step` has come.
  void contribute(std::size_t partition, Rank rank, std::uint32_t step);
  /// `rank` has ended its steps: nobody waits for it.
  void end(Rank rank);

  /// Begins a batch. Returns false if no answer is due, or one is under way.
  bool begin_batch(std::size_t partition);
  /// The seconds of the batch under way, and the step that it answers first.
  double seconds(std::size_t partition) const { return partitions_[partition].seconds; }
  std::uint32_t answered_step(std::size_t partition) const;
  /// Ends it: returns the ranks whose answers leave.
  std::span<const Rank> finish(std::size_t partition);
  void left(std::size_t partition, Rank rank) { partitions_[partition].batches.left(rank); }

  const ToldContributions& told(std::size_t partition) const { return partitions_[partition].told; }

 private:
  struct Partition {
    Owned owned;
    AnswerBatches batches;
    std::vector<bool> contributes;
    // Seconds of a contribution's code, of an answer, and of the copy of its code from a device.
    double code_s = 0, answer_s = 0, download_s = 0;
    double seconds = 0;
    bool begun = false;  ///< the owner has begun its first step
    std::vector<std::pair<Rank, std::uint32_t>> early;
    ToldContributions told;
  };
  double seconds_of_batch(const Partition& partition) const;
  std::span<const std::size_t> owned_by(Rank rank, std::uint32_t gradient) const;

  const Asynchronous rule_;
  const double memory_bytes_per_second_;
  std::vector<Partition> partitions_;
  std::vector<std::vector<std::size_t>> of_gradient_;  ///< by gradient: its partitions, by owner
  std::vector<std::size_t> partition_of_;              ///< by task
};

}  // namespace casync
