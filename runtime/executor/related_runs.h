// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace casync::runtime {

class GradientRun;

/// The runs that replace a gradient's own in some steps, and the run that this one belongs to.
///
/// Threads: the constructor's until Executor::take_in(), then fixed, but for the step under way: that is the progress
/// thread's.
class RelatedRuns {
 public:
  RelatedRuns();
  ~RelatedRuns();
  RelatedRuns(const RelatedRuns&) = delete;
  RelatedRuns& operator=(const RelatedRuns&) = delete;

  /// Makes this an exchange, a warm-up, the gossip or owner's side of `outer`.
  void belong_to(GradientRun& outer) { outer_ = &outer; }
  /// Null: it is a gradient's own.
  GradientRun* outer() const { return outer_; }

  /// Adds a run that replaces it in the steps from the last one's end to `until`. In order.
  void add_warm_up(std::uint32_t until, std::unique_ptr<GradientRun> run);
  bool has_warm_up() const { return !warm_up_.empty(); }
  GradientRun& last_warm_up() const { return *warm_up_.back().run; }
  /// The one that replaces it in `step`; null: none.
  GradientRun* warm_up_in(std::uint32_t step) const;
  /// Calls visit(std::uint32_t) for the end of each.
  template <class Visit>
  void for_each_end(Visit visit) const {
    for (const WarmUp& stage : warm_up_) visit(stage.until);
  }

  /// Gossip: adds a run for one of the neighbourhoods that it goes to.
  void add_gossip(std::unique_ptr<GradientRun> run);
  std::size_t neighbourhoods() const { return gossip_.size(); }
  GradientRun& gossip(std::size_t neighbourhood) const { return *gossip_[neighbourhood]; }
  /// The same of the one that replaces it in a consensus.
  void add_consensus(std::unique_ptr<GradientRun> run);
  /// Null: none does.
  GradientRun* consensus() const { return consensus_; }

  /// A step begins, in which this one replaces it; null: none.
  void choose(GradientRun* instead) { instead_ = instead; }
  GradientRun* instead() const { return instead_; }

  /// Calls visit(GradientRun&) for each warm-up, then each of gossip().
  template <class Visit, class VisitGossip>
  void for_each(Visit visit, VisitGossip visit_gossip) const {
    for (const WarmUp& stage : warm_up_) visit(*stage.run);
    for (const std::unique_ptr<GradientRun>& one : gossip_) visit_gossip(*one);
  }

 private:
  struct WarmUp {
    std::uint32_t until = 0;  ///< the first step that is not its own
    std::unique_ptr<GradientRun> run;
  };

  std::vector<WarmUp> warm_up_;
  std::vector<std::unique_ptr<GradientRun>> gossip_;  ///< one of each neighbourhood
  GradientRun* consensus_ = nullptr;                  ///< one of these
  GradientRun* outer_ = nullptr;
  GradientRun* instead_ = nullptr;
};

}  // namespace casync::runtime
