// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/session/step_moments.h"

namespace casync::runtime {

/// The moments of a program whose gradients lie on a device. The program runs ahead of the device, so each moment is an
/// event in its stream: what was queued earlier has been done by then. A gradient is ready when the device has written
/// it. While the program waits it queues nothing, and its stream stands still from the end of what is queued until the
/// program goes on: a stream that has enough to do stands still for no time.
///
/// The program's stream is that of its last submission, which stays (Submission::stream). Steps are recorded from
/// the end of the first one with a submission on. A step's events are asked when a later one ends, and nothing waits
/// for them: if that is too early, the device refused an event, or the program captures the stream into a graph
/// meanwhile, the step is not recorded.
class DeviceMoments final : public StepMoments {
 public:
  /// Borrows the device.
  explicit DeviceMoments(Device& device) : device_(device) {}

  void submitted(std::span<const Submission> submissions) override;
  void needs(std::size_t gradient) override;
  void waits(std::size_t gradient) override;
  void stands_still() override;
  void goes_on() override;
  void computed() override { note(Kind::kComputed); }
  void step_ended() override;
  const Recorder& recorder() override;

 private:
  enum class Kind : std::uint8_t { kSubmitted, kNeeds, kWaits, kStandsStill, kGoesOn, kComputed, kStepEnded };
  struct Moment {
    Kind kind{};
    std::size_t gradient = 0;
    std::size_t event = 0;
  };
  /// A step's moments, and their events; event 0 is the step's beginning.
  struct Step {
    std::vector<std::unique_ptr<Event>> events;
    std::size_t used = 0;     ///< events of this step; 0: it is not recorded
    std::size_t waiting = 0;  ///< threads that stood still when it began
    std::vector<Moment> moments;
  };
  /// The way of a gradient in the step under way.
  enum class Reached : std::uint8_t { kNothing, kSubmitted, kNeeded };

  void note(Kind kind, std::size_t gradient = 0);
  bool put_event(Step& step, void* stream);
  void begin_step();
  void forget(Step& step);
  void take_over();
  bool is_over(const Step& step);
  void tell(const Step& step);

  Device& device_;
  Recorder recorder_{Clock::time_point{}};
  std::optional<void*> stream_;  ///< of the last submission; nothing: there was none
  std::array<Step, 2> steps_;    ///< the one under way, and the one that ended last
  std::size_t current_ = 0;      ///< the one under way
  bool ended_ = false;           ///< the other one has not been told
  std::size_t waiting_ = 0;      ///< threads that stand still
  std::vector<Reached> reached_;
  Clock::time_point told_until_{};  ///< the recorder's time: the end of the last step that it was told
  std::size_t told_waiting_ = 0;    ///< threads that stand still there
  std::vector<double> seconds_;     ///< of a step's events since its beginning; keeps its memory
};

}  // namespace casync::runtime
