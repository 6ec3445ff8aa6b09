// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "tools/casync/tune/ranks.h"

namespace casync::tools {

/// One process of this rank and its log.
struct PhaseProcess {
  std::string name;                  ///< of the phase, for messages
  std::vector<std::string> program;  ///< and its arguments
  std::vector<std::string> set;      ///< "NAME=value" over the inherited environment
  std::vector<std::string> unset;    ///< names to leave out of it
  std::string log;                   ///< file for stdout and stderr
};

/// Runs the process on every rank at once, at a place of their own, and waits for all of them. Collective. To be called
/// by the main thread. Processes that it leaves in its group end with it, and all do with this process if SIGINT,
/// SIGTERM or SIGHUP ends that.
/// A rank whose process fails ends those of the others. Unavailable: names the rank, the exit code and the last lines
/// of its log. Timeout: the process ran longer than the ranks' patience. Otherwise errors as TuneRanks and start_child.
Status run_phase(TuneRanks& ranks, const PhaseProcess& process);

/// Runs a process of this rank alone. Unavailable and Timeout as run_phase; the others learn of it by the next call.
Status run_to_end(TuneRanks& ranks, const PhaseProcess& process);

}  // namespace casync::tools
