// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "casync/simulator/profile.h"
#include "tools/casync/profile/fit.h"

namespace casync::tools {

struct ContentionOptions {
  std::vector<std::string> codecs;  ///< as CASYNC_CODEC has them
  std::vector<int> processors;      ///< the rank's own: training has a thread on each, the codec one on any of them
  double seconds = 0.1;             ///< of each measurement
  int rounds = 5;
  std::function<void(const std::string&)> progress;
};

/// Seconds of one activity alone, and together with the other.
struct Beside {
  double alone_s = 0, beside_s = 0;
};

/// The slowdown of one activity together with the other, never below 1.
struct Slowdown {
  std::string what;                         ///< "encode", "training"
  std::vector<std::vector<Beside>> rounds;  ///< of each codec, or of each operation that ran with it
  double times = 1;
  double worst = 0, mean = 0;  ///< errors of single codecs or operations, as Fit
};

struct MeasuredContention {
  Contention contention;
  std::vector<Slowdown> each;  ///< encode, merge, decode, training
};

/// Runs each codec's operations alone, a training-like load alone, and both together on `processors`, by the clock on
/// the wall: it includes sharing a processor, a cache or the memory. Leaves out codecs that encode nothing.
/// Errors as make_codec.
Result<MeasuredContention> measure_contention(const ContentionOptions& options);

/// The median, over codecs or operations, of the least seconds together with the other over the least alone: other
/// programs on the machine only ever add time.
Slowdown slowdown_of(std::string what, std::vector<std::vector<Beside>> rounds);

}  // namespace casync::tools
