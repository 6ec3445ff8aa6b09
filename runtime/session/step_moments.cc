// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/step_moments.h"

#include "runtime/session/device_moments.h"
#include "runtime/session/program_clock.h"

namespace casync::runtime {
namespace {

class HostMoments final : public StepMoments {
 public:
  explicit HostMoments(double ranks_per_processor) : clock_(ranks_per_processor) {}

  void submitted(std::span<const Submission> submissions) override {
    const Clock::time_point now = clock_.now();
    for (const Submission& one : submissions) recorder_.submitted(static_cast<std::size_t>(one.gradient), now);
  }
  void needs(std::size_t gradient) override { recorder_.needs(gradient, clock_.now()); }
  void waits(std::size_t gradient) override { recorder_.waits(gradient, clock_.now()); }
  void stands_still() override { recorder_.stands_still(clock_.now()); }
  void goes_on() override { recorder_.goes_on(clock_.now()); }
  void computed() override { recorder_.computed(clock_.now()); }
  void step_ended() override { recorder_.step_ended(clock_.now()); }
  const Recorder& recorder() override { return recorder_; }

 private:
  ProgramClock clock_;
  Recorder recorder_{clock_.now()};
};

}  // namespace

std::unique_ptr<StepMoments> make_step_moments(Device& device, double ranks_per_processor) {
  if (device.is_host()) return std::make_unique<HostMoments>(ranks_per_processor);
  return std::make_unique<DeviceMoments>(device);
}

}  // namespace casync::runtime
