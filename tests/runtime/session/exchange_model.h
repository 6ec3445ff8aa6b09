// SPDX-License-Identifier: Apache-2.0
//
// Strategies once more, from docs/strategies.md: each rank's sums, and the residual of each encoding. No
// task graphs, no messages, nothing of casync/ or runtime/ but the words of strategies.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/runtime/session/told.h"

namespace casync::test {

/// One gradient, cut into partitions of equal size, over several steps.
class ExchangeModel {
 public:
  /// `strategy` as plans name it, with its servers: "ps servers: 2 dedicated: true"; `node_of` one letter for each
  /// rank, "" for one node.
  ExchangeModel(const ToldCodec& codec, std::string strategy, std::string node_of, int ranks, std::size_t elements,
                std::size_t partitions);

  /// The mean of the ranks' gradients as all ranks have it in the end.
  Vector step(const std::vector<Vector>& gradients);

 private:
  struct Sums;  ///< a function for each strategy

  /// Encodes x plus what `who` had left over of this partition, and returns what arrives.
  Vector told(const std::string& who, Vector x);
  Vector own(int rank) const;
  void choose_servers(int count);
  bool contributes(int rank) const;
  Vector result_of(int owner);
  Vector sum_of_codes(const std::string& role);

  ToldCodec codec_;
  std::string strategy_;
  Vector (*sum_)(ExchangeModel&, int owner) = nullptr;  ///< of the ranks' elements, as the owner has it
  int ranks_;
  std::size_t elements_, partitions_;
  std::vector<std::vector<int>> nodes_;
  std::vector<int> servers_;  ///< empty: all ranks
  bool dedicated_ = false;
  std::map<std::string, Vector> left_;  ///< by encoder and partition
  const std::vector<Vector>* gradients_ = nullptr;
  std::size_t partition_ = 0;
};

}  // namespace casync::test
