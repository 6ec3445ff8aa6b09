// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "casync/simulator/curve.h"
#include "casync/simulator/profile.h"

namespace casync::tools {

struct ProfileOptions {
  std::vector<std::string> codecs;  ///< as CASYNC_CODEC has them
  std::string between = "ucx:tcp", inside = "ucx:shm";
  bool quick = false;
  std::function<void(const std::string&)> progress;
};

/// One thing that was measured over sizes, and the curve that stands for it.
struct Measured {
  std::string what;  ///< "int8 encode", "between: port"
  std::vector<Curve::Point> points;
  double worst = 0, mean = 0;  ///< how far the curve is off, as Fit
};

struct MeasuredProfile {
  Profile profile;
  std::vector<Measured> raw;
  std::vector<std::string> notes;  ///< what was seen and has no place in a profile
};

/// Links first, between processes of this machine, then memory and codecs on one core. Call before any thread is
/// started: it forks. Errors as bench_transport, make_codec.
Result<MeasuredProfile> measure_profile(const ProfileOptions& options);

}  // namespace casync::tools
