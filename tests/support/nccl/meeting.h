// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace casync::test::fake_nccl {

/// A send, a recv or an all-reduce of one rank.
struct Operation {
  enum class Kind { kSend, kRecv, kAllReduce } kind = Kind::kSend;
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t count = 0;
  int type = 0;
  int reduction = 0;
  int peer = -1;
  bool done = false;

  std::size_t bytes() const;
};

/// Brings the operations of a communicator's ranks together, in the order in which they come.
class Meeting {
 public:
  explicit Meeting(int ranks) : ranks_(ranks), reductions_(static_cast<std::size_t>(ranks)) {}
  int ranks() const { return ranks_; }

  /// Brings a group of operations and waits until all have met others, or `aborted` is true. Under `lock`.
  void run(int rank, std::span<Operation> group, std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
           const bool& aborted);

 private:
  struct Line {
    std::deque<Operation*> sends, recvs;
  };
  void bring(int rank, Operation& one);
  void take_back(int rank, Operation& one);
  void match(Line& line);
  void match_reductions();

  const int ranks_;
  std::map<std::pair<int, int>, Line> lines_;       ///< by sender and receiver
  std::vector<std::deque<Operation*>> reductions_;  ///< by rank
};

}  // namespace casync::test::fake_nccl
