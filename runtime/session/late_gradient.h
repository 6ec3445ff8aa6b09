// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "casync/model/gradient.h"
#include "runtime/device/device.h"
#include "runtime/session/late_memory.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// A gradient whose results come a fixed number of steps late. It has as many slots: each holds a submission until that
/// is reduced, and then its result until a later submission takes that, and leaves its own elements there. The first
/// results are zeros, or were loaded. Under the session's lock.
///
/// Errors, besides: Unavailable, as LateMemory.
class LateGradient {
 public:
  /// `memory`: of `slots` slots.
  LateGradient(GradientSpec spec, std::unique_ptr<LateMemory> memory, std::size_t slots)
      : spec_(std::move(spec)), memory_(std::move(memory)), slots_(slots) {}

  const GradientSpec& spec() const { return spec_; }
  /// Returns true if it has been submitted in `step`.
  bool in_step(std::uint32_t step) const { return steps_ == step + 1; }
  /// Returns true if it has been submitted in `step` or later.
  bool knows(std::uint32_t step) const { return steps_ > step; }

  /// Checks that it may be submitted in `step`, in the `call`-th submission. InvalidArgument: memory that does not fit,
  /// submitted twice.
  Status check(const Device& device, const Submission& submission, std::uint32_t step, std::uint64_t call);
  /// Takes the submission of `step`.
  Status take(const Submission& submission, std::uint32_t step);

  /// The result of the last submission is there when so many steps are reduced.
  std::uint32_t due() const { return slots_[slot_index()].steps; }
  /// Returns false if that result was loaded and is not finite.
  bool loaded_is_finite() const { return slots_[slot_index()].is_finite; }
  /// The reduction that makes this result, once it has begun, as long as it is not handed over.
  const std::optional<Handle>& reduction() const { return slots_[slot_index()].reduction; }
  /// Puts the result, which is there, into the memory of the last submission, and that one's elements into the slot.
  Status hand_over();
  /// The time of the last hand_over() that did so.
  Clock::time_point handed_over_at() const { return handed_over_at_; }
  /// Returns true if the submission of `step` has its result, or a device copies it.
  bool is_handed_over(std::uint32_t step) const { return handed_over_ || steps_ > step + 1; }
  /// Returns true if it has it.
  Result<bool> has_result(std::uint32_t step) const;
  /// Returns true if no copy is under way.
  Result<bool> is_exchanged() const { return memory_->is_exchanged(); }

  /// The slot of the submission of `step`, to be reduced as gradient `id`; nothing: the step left it out.
  std::optional<Submission> to_reduce(GradientId id, std::uint32_t step);
  /// The reduction of that one has begun.
  void begin_reducing(std::uint32_t step, Handle reduction);

  /// Adds the results of the next submissions to `state`.
  Status save(SessionState& state) const;
  /// Takes the result for the submission `place` submissions after the next one, from a state.
  Status load(std::uint32_t place, const GradientState& late);
  /// Forgets all submissions and results.
  Status forget();

 private:
  struct Slot {
    std::uint32_t steps = 0;          ///< 1 + the step of the submission in it; 0: none, or a result that was loaded
    std::optional<Handle> reduction;  ///< of that submission, once it has begun
    bool is_finite = true;            ///< a result that was loaded
  };

  /// The slot of the last submission: until that is handed over, with the result for it.
  std::size_t slot_index() const { return (submissions_ - 1) % slots_.size(); }
  /// The slot whose result the k-th submission from now gets; k from 0.
  std::size_t next_slot(std::uint64_t k) const { return (submissions_ + k) % slots_.size(); }
  std::size_t index_of_step(std::uint32_t step) const;

  const GradientSpec spec_;
  const std::unique_ptr<LateMemory> memory_;
  std::vector<Slot> slots_;        ///< the n-th submission takes slot n, modulo their number
  std::uint64_t submissions_ = 0;  ///< since the start, or since a state was loaded
  std::uint32_t steps_ = 0;        ///< 1 + the step of the last submission; 0: none
  std::uint64_t call_ = 0;         ///< the submission that named it last, valid or not
  bool handed_over_ = true;        ///< the last submission has its result, or a device is copying it
  Clock::time_point handed_over_at_{};
};

}  // namespace casync::runtime
