// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "runtime/control/group/group.h"
#include "runtime/control/launch/launch.h"
#include "tools/casync/launch/environment.h"

namespace casync::tools {

/// The ranks of one `casync tune`, one process each. They stay joined while the phases run, so that all ranks start a
/// phase together and a failure on one rank ends the phase on all. All calls but failure() are collective.
class TuneRanks {
 public:
  /// Joins the ranks of this job. InvalidArgument: fewer than two ranks, or torch's store. Else errors as join_job.
  static Result<std::unique_ptr<TuneRanks>> join(const runtime::Launch& launch, double patience_s);

  Rank rank() const { return launch_.rank; }
  int ranks() const { return launch_.ranks; }
  int nodes() const { return nodes_; }
  /// Seconds that a phase may take.
  double patience_s() const { return patience_s_; }

  /// Rank 0's text on every rank. `what` names the exchange in errors.
  Result<std::string> from_rank_0(const std::string& what, const std::string& mine);

  /// Returns when every rank has called it.
  Status meet(const std::string& what);

  /// The place of the next phase's processes: a rendezvous and a token of their own, and torch's variables.
  /// Unavailable: no free port, or a directory that cannot be made. InvalidArgument: no interface CASYNC_INTERFACE.
  Result<JobPlace> next_place();

  /// Ends the phase on every rank with this cause.
  void give_up(const Status& cause) { group_->abort(cause); }
  /// OK, or the cause that some rank gave up with.
  Status failure() const { return group_->failure(); }

  Status close();

 private:
  TuneRanks(runtime::Launch launch, double patience_s) : launch_(std::move(launch)), patience_s_(patience_s) {}
  Result<std::string> phase_rendezvous();
  /// An address on which rank 0 may listen, as all ranks reach it.
  Result<std::string> free_address() const;

  runtime::Launch launch_;
  double patience_s_;
  std::unique_ptr<runtime::Group> group_;
  int nodes_ = 1;
  int phases_ = 0;
};

}  // namespace casync::tools
