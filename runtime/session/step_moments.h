// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "runtime/device/device.h"
#include "runtime/session/recorder.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// Tells a Recorder what the program does in its steps, and when: on the host when it does it, on a device when the
/// device comes to that place of the program's stream (DeviceMoments). Gradients have the numbers of their submissions.
///
/// Threads: one at a time.
class StepMoments {
 public:
  virtual ~StepMoments() = default;
  virtual void submitted(std::span<const Submission> submissions) = 0;
  // As the Recorder's.
  virtual void needs(std::size_t gradient) = 0;
  virtual void waits(std::size_t gradient) = 0;
  virtual void stands_still() = 0;
  virtual void goes_on() = 0;
  virtual void computed() = 0;
  virtual void step_ended() = 0;
  /// It has the steps whose moments are known by now.
  virtual const Recorder& recorder() = 0;
};

/// Makes those of a program whose gradients lie on `device`, which is borrowed. `ranks_per_processor`: as of a
/// ProgramClock.
std::unique_ptr<StepMoments> make_step_moments(Device& device, double ranks_per_processor);

}  // namespace casync::runtime
