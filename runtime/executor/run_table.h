// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "runtime/executor/gradient_run.h"

namespace casync::runtime {

/// The gradients that an executor has taken in, and all runs that belong to them: their exchanges, and bundles. The
/// progress thread's.
class RunTable {
 public:
  /// InvalidArgument: one of these has the key of a run that is here.
  Status check(std::span<GradientRun* const> runs) const;
  /// Finds these from now on, and gives each its index.
  void add(std::span<GradientRun* const> runs);
  /// Owns these gradients from now on.
  void own(std::vector<std::unique_ptr<GradientRun>> gradients);

  /// Null: no run has this key.
  GradientRun* find(std::uint64_t key) const;
  GradientRun& at(std::size_t index) const { return *by_index_[index]; }
  /// Without what belongs to them.
  std::span<const std::unique_ptr<GradientRun>> gradients() const { return gradients_; }

  /// Hands over all that messages may still arrive in.
  std::vector<std::unique_ptr<GradientRun>> release() { return std::move(gradients_); }

 private:
  std::vector<std::unique_ptr<GradientRun>> gradients_;
  std::vector<GradientRun*> by_index_;
  std::unordered_map<std::uint64_t, GradientRun*> by_key_;
};

}  // namespace casync::runtime
