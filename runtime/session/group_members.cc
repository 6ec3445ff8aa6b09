// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/group_members.h"

#include <algorithm>

namespace casync::runtime {
namespace {

bool is_same(const GradientSpec& a, const GradientSpec& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.priority == b.priority;
}

}  // namespace

Status GroupMembers::check(std::size_t place, const GradientSpec& gradient) const {
  const auto refused = [&](const std::string& why) {
    return invalid_argument("gradient " + gradient.name + ": " + why);
  };
  if (has(place)) {
    if (is_same(spec_of(place), gradient)) return Status::ok();
    return refused("it was declared earlier with another shape, type or priority");
  }
  if (is_closed_) {
    return refused("group " + name() +
                   " has been sent, or its state was loaded, without it: declare all of a group ahead of its state "
                   "and by the end of the first step");
  }
  CASYNC_RETURN_IF_ERROR(check_shape(gradient));
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const GradientSpec& other = specs_[i];
    if (!has(i) || other.dtype == gradient.dtype) continue;
    return refused(std::string(name_of(gradient.dtype)) + ", and " + other.name + ", which is in group " + name() +
                   " with it, is " + std::string(name_of(other.dtype)) + ": a group has one type");
  }
  return Status::ok();
}

void GroupMembers::add(std::size_t place, const GradientSpec& gradient) {
  specs_[place] = gradient;
  places_[place] = {{gradient.bytes(), bytes_of(gradient.dtype)}, 0, true};
  ++declared_;
}

GradientSpec GroupMembers::spec() const {
  GradientSpec whole;
  whole.name = name();
  Elements elements = 0;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (!has(i)) continue;
    const GradientSpec& member = specs_[i];
    const bool first = whole.members.empty();
    whole.dtype = member.dtype;
    whole.priority = first ? member.priority : std::min(whole.priority, member.priority);
    whole.members.push_back({member.name, member.shape});
    elements += member.elements();
  }
  whole.shape = {static_cast<std::int64_t>(elements)};
  return whole;
}

void GroupMembers::close() {
  is_closed_ = true;
  whole_ = spec();
  Bytes offset = 0;
  for (Place& place : places_) {
    if (!place.is_declared) continue;
    place.offset = offset;
    offset += place.memory.bytes;
  }
}

const std::string* GroupMembers::first_in(const SessionState& state) const {
  const auto found = std::find_if(group_.gradients.begin(), group_.gradients.end(),
                                  [&](const std::string& member) { return state.gradients.contains(member); });
  return found == group_.gradients.end() ? nullptr : &*found;
}

Status GroupMembers::check_none_in(const SessionState& state) const {
  const std::string* const member = first_in(state);
  if (member == nullptr) return Status::ok();
  return invalid_argument("gradient " + *member + ": the state has it, and no gradient of group " + name() +
                          " is declared here: declare them, then load the state");
}

}  // namespace casync::runtime
