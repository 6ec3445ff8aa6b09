// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "casync/model/gradient.h"

namespace casync::runtime {

/// The members of a group that have been submitted in a step, by their places, and those that a call submits. Calls
/// have numbers from 1. The caller's lock guards it.
class MemberSubmissions {
 public:
  explicit MemberSubmissions(std::size_t members) : places_(members) {}

  /// A call names the member for `step`. InvalidArgument: it has been submitted in that, or is in the call twice.
  Status check(std::size_t place, const GradientSpec& gradient, std::uint32_t step, std::uint64_t call);
  /// A call, which has been checked, submits one more for `step`. Returns the number of members that the step has with
  /// those of the call.
  std::size_t join(std::uint32_t step, std::uint64_t call);
  /// The member has been submitted in `step`.
  void add(std::size_t place, std::uint32_t step);
  /// Takes the submission of a member back: `step` is the one under way.
  void remove(std::size_t place, std::uint32_t step);

  /// The number of members that have been submitted in `step`.
  std::size_t count_in(std::uint32_t step) const { return steps_ == step + 1 ? submitted_ : 0; }
  bool is_in(std::size_t place, std::uint32_t step) const { return places_[place].steps == step + 1; }
  /// Returns true if the member has been submitted in `step` or later.
  bool knows(std::size_t place, std::uint32_t step) const { return places_[place].steps > step; }
  /// Returns true if it has been submitted later than in `step`.
  bool is_past(std::size_t place, std::uint32_t step) const { return places_[place].steps > step + 1; }

  /// Forgets all submissions.
  void forget();

 private:
  struct Place {
    std::uint32_t steps = 0;  ///< 1 + the step of the last submission; 0: none
    std::uint64_t call = 0;   ///< that named it last, valid or not
  };

  std::vector<Place> places_;
  std::uint32_t steps_ = 0;  ///< 1 + the step that submitted_ is of
  std::size_t submitted_ = 0;
  std::uint64_t call_ = 0;  ///< that joining_ is of
  std::size_t joining_ = 0;
};

}  // namespace casync::runtime
