// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/control/group/facts.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/session/declarations.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// The gradients that this rank has declared, by GradientId, and their runs. Under the session's mutex.
class GradientTable {
 public:
  /// The gradient of this name; nothing: it is new. InvalidArgument: it was declared differently, or another has the
  /// same key.
  Result<std::optional<GradientId>> find(const Declared& declared) const;
  GradientId add(Declared declared);

  std::size_t size() const { return declared_.size(); }
  const Declared& declared(std::size_t gradient) const { return declared_[gradient]; }
  const GradientSpec& spec(std::size_t gradient) const { return declared_[gradient].spec; }
  std::vector<GradientSpec> specs() const;

  /// Returns true if some gradient has not been claimed.
  bool has_news() const { return claimed_ < declared_.size(); }
  /// The claims of those, which count as claimed from then on.
  std::vector<Claim> take_claims();
  /// The name under which ranks compare a gradient.
  std::string claim_name(std::size_t gradient) const;
  /// The gradient of a claim; nothing: it is the claim of something else.
  std::optional<std::size_t> claimed(const std::string& name) const;

  /// Null: not every rank has claimed it. The executor owns the runs.
  GradientRun* run(std::size_t gradient) const { return runs_[gradient]; }
  std::span<GradientRun* const> runs() const { return runs_; }
  void open(std::size_t gradient, GradientRun* run) { runs_[gradient] = run; }

 private:
  std::vector<Declared> declared_;
  std::map<std::string, GradientId> ids_;
  std::size_t claimed_ = 0;  ///< number of declared_ that have been claimed
  std::vector<GradientRun*> runs_;
};

}  // namespace casync::runtime
