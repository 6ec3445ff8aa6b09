// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "casync/model/gradient.h"
#include "casync/model/plan.h"
#include "runtime/session/declarations.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// The members of a plan's group, in its order: those that have been declared, and where their elements are in the
/// group's, one after the other. Until it is closed members may be added. The caller's lock guards it.
class GroupMembers {
 public:
  explicit GroupMembers(const GradientGroup& group)
      : group_(group), places_(group.gradients.size()), specs_(group.gradients.size()) {}

  const std::string& name() const { return group_.name; }
  /// The number of members that the plan names.
  std::size_t size() const { return places_.size(); }
  /// The number of those that have been declared.
  std::size_t declared() const { return declared_; }
  bool has_all() const { return declared_ == places_.size(); }
  bool has(std::size_t place) const { return places_[place].is_declared; }
  /// The name by the plan.
  const std::string& name_at(std::size_t place) const { return group_.gradients[place]; }
  const GradientSpec& spec_of(std::size_t place) const { return specs_[place]; }
  /// Returns true if `memory`, on the host, can hold the member.
  bool fits(std::size_t place, View memory) const { return places_[place].memory.fits(memory); }

  /// Checks a declaration of the member at `place`. InvalidArgument: declared otherwise earlier, of another type than
  /// the others, or the group is closed.
  Status check(std::size_t place, const GradientSpec& gradient) const;
  /// Adds one that has passed, and is not there.
  void add(std::size_t place, const GradientSpec& gradient);

  /// The specification of the whole, with the members that are there now. Some are.
  GradientSpec spec() const;
  /// Adds no member any more.
  void close();
  bool is_closed() const { return is_closed_; }
  /// The whole, once it is closed.
  const GradientSpec& whole() const { return whole_; }
  /// The first byte of a member in the memory of the whole.
  Bytes offset_of(std::size_t place) const { return places_[place].offset; }

  /// The first member that the state has; null: it has none.
  const std::string* first_in(const SessionState& state) const;
  /// InvalidArgument: the state has some member.
  Status check_none_in(const SessionState& state) const;

 private:
  /// All that a step needs of a member: thousands of specifications are in no cache.
  struct Place {
    MemoryShape memory;
    Bytes offset = 0;
    bool is_declared = false;
  };

  const GradientGroup group_;
  std::vector<Place> places_;
  std::vector<GradientSpec> specs_;  ///< as places_
  std::size_t declared_ = 0;
  bool is_closed_ = false;
  GradientSpec whole_;
};

}  // namespace casync::runtime
