// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "runtime/control/wire/fd.h"

namespace casync::runtime::testing {

/// A rank in a process of its own: rank_program. Killed with the object.
class RankProcess {
 public:
  RankProcess(int rank, int ranks, const std::string& directory, Seconds dead, Seconds timeout);
  ~RankProcess();
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;

  pid_t pid() const { return pid_; }
  void tell(const std::string& line);
  void signal(int number) const;
  /// The next line that begins with `word`, without it; "" when it did not come by the deadline.
  std::string hear(const std::string& word, Seconds within);

 private:
  pid_t pid_ = -1;
  Fd input_, output_;
  std::string buffer_;
};

/// A rank's report that its group failed.
struct Failure {
  Clock::time_point when;
  std::string text;  ///< "" when it said nothing
};
Failure failure_of(RankProcess& process, Seconds within);

/// All ranks of a job, joined. Ends the test case if one could not join, with its error.
std::vector<std::unique_ptr<RankProcess>> start_ranks(int ranks, const std::string& directory,
                                                      Seconds dead = Seconds(5));

}  // namespace casync::runtime::testing
