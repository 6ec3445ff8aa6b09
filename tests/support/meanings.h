// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tests/support/interpreter.h"

namespace casync::test {

/// Every element's value is a set: whose contributions it holds, how often each, and how often it was scaled. A
/// code is the number of its encoding: equal numbers mean equal bytes. Only sums of the same codes in the same order
/// have the same number, because a codec may add what is left of the previous step.
class Contributions : public Meaning {
 public:
  Contributions(int ranks, Elements elements);
  Code encode(Rank rank, const Slice& from, Hop hop) override;
  Code merge(Rank rank, const Merge& merge, std::span<const Code* const> codes, Hop to) override;
  void decode(Rank rank, const Code& code, const Slice& to, Hop hop) override;

  /// Checks that each rank ended with every contribution once, but those of `silent` ranks never, scaled once, in
  /// elements decoded once, and with the same encoding as rank 0. Internal: names the first rank and element that did
  /// not.
  Status complete(std::span<const Rank> silent = {}) const;

 private:
  struct Set {
    std::vector<int> counts;  // [rank]
    int scaled = 0;
  };
  struct Element {
    std::uint32_t encoding = 0;
    int decodes = 0;
  };
  Code code_of(Set set);
  Code sum_of(Rank rank, const Merge& merge, std::span<const Code* const> codes, Set set);
  std::string fault_of(const Set& set, std::span<const Rank> silent) const;

  std::size_t ranks_;
  std::vector<Set> encodings_;
  std::map<std::vector<std::int64_t>, std::uint32_t> sums_;  // encodings by what was added
  std::vector<std::vector<Element>> gradients_;              // [rank][element]
};

/// Real gradients with a toy codec on each hop, feedback and averaging included.
class Floats : public Meaning {
 public:
  /// A code holds the nearest multiple of `grain` to each element; 0: the element itself. `gradients` has one
  /// vector per rank. With values that are small multiples of 1/8 and a power of two as grain, all arithmetic
  /// but the averaging is exact.
  Floats(std::vector<std::vector<float>> gradients, float first_grain, float second_grain, float scale);
  Code encode(Rank rank, const Slice& from, Hop hop) override;
  Code merge(Rank rank, const Merge& merge, std::span<const Code* const> codes, Hop to) override;
  void decode(Rank rank, const Code& code, const Slice& to, Hop hop) override;

  /// Each rank's gradient: what it was until decoded, then the result. Set it for another step.
  std::vector<std::vector<float>>& gradients() { return gradients_; }
  /// One float per element and rank for both hops together, kept from step to step.
  const std::vector<std::vector<float>>& residuals() const { return residuals_; }

 private:
  float grain(Hop hop) const { return hop == Hop::kFirst ? first_grain_ : hop == Hop::kSecond ? second_grain_ : 0; }
  Code code_of(Rank rank, const Slice& slice, std::vector<float> values, Hop hop);

  std::vector<std::vector<float>> gradients_, residuals_;
  float first_grain_, second_grain_, scale_;
};

/// Gradients whose codes are signs, and whose merge is the sign of most of them: a tie is 1. A merge that is given a
/// rank's own elements counts them as they are.
class Votes : public Meaning {
 public:
  explicit Votes(std::vector<std::vector<float>> gradients) : gradients_(std::move(gradients)) {}
  Code encode(Rank rank, const Slice& from, Hop hop) override;
  Code merge(Rank rank, const Merge& merge, std::span<const Code* const> codes, Hop to) override;
  void decode(Rank rank, const Code& code, const Slice& to, Hop hop) override;

  const std::vector<std::vector<float>>& gradients() const { return gradients_; }

 private:
  std::vector<std::vector<float>> gradients_;
};

}  // namespace casync::test
