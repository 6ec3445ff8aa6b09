// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "casync/simulator/curve.h"
#include "casync/simulator/profile.h"
#include "tools/casync/profile/job.h"
#include "tools/casync/profile/tiny_steps.h"

namespace casync::tools {

struct ProfileOptions {
  std::vector<std::string> codecs;  ///< as CASYNC_CODEC has them
  std::string between = "ucx:tcp", inside = "ucx:shm";
  std::string device;               ///< a GPU that codecs are measured on; empty: this processor
  std::uint64_t largest = 1 << 22;  ///< elements of the largest partition that codecs are measured with
  bool quick = false;
  /// Over either transport, measured while this process had no threads; empty: tasks cost nothing.
  TinySteps tiny_inside, tiny_between;
  std::vector<int> processors;  ///< of this rank, for training together with codecs; a job knows its own
  ProfileJob* job = nullptr;    ///< set: links are those between its ranks, and only its first rank measures the rest
  std::function<void(const std::string&)> progress;
};

/// One thing that was measured, and how far what stands for it in the profile is off.
struct Measured {
  std::string what;                  ///< "int8 encode", "between: port", "between: incast, by peers: times as long"
  std::vector<Curve::Point> points;  ///< sizes and seconds, unless `what` says otherwise
  double worst = 0, mean = 0;        ///< how far the curve is off, as Fit
};

struct MeasuredProfile {
  Profile profile;
  std::vector<Measured> raw;
  std::vector<std::string> notes;  ///< observations that have no place in a profile
};

/// Links first, then memory and codecs on one core, then codecs with training. Without a job links are between this
/// process and one that it forks: call ahead of starting any thread. With one, all ranks call, and the first one's
/// profile is whole; a link that no two of them have is the other one's. Errors as bench_transport, make_codec.
Result<MeasuredProfile> measure_profile(const ProfileOptions& options);

}  // namespace casync::tools
