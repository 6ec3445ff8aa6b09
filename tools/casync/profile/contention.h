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

/// Seconds of one thing alone, and beside the other.
struct Beside {
  double alone_s = 0, beside_s = 0;
};

/// How many times as long it takes beside the other, never below 1.
struct Slowdown {
  std::string what;                         ///< "encode", "training"
  std::vector<std::vector<Beside>> rounds;  ///< of each codec, or of each operation that ran beside it
  double times = 1;
  double worst = 0, mean = 0;  ///< how far single codecs or operations are off, as Fit
};

struct MeasuredContention {
  Contention contention;
  std::vector<Slowdown> each;  ///< encode, merge, decode, training
};

/// Runs each codec's operations alone, a training-like load alone, and both together on `processors`, by the clock on
/// the wall: what shares a processor, a cache or the memory is all in it. Leaves out codecs that encode nothing.
/// Errors as make_codec.
Result<MeasuredContention> measure_contention(const ContentionOptions& options);

/// The median, over codecs or operations, of the least seconds beside the other over the least alone: who else is on
/// the machine only ever adds time.
Slowdown slowdown_of(std::string what, std::vector<std::vector<Beside>> rounds);

}  // namespace casync::tools
