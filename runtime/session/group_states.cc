// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/group_states.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/session/kept_roles.h"
#include "runtime/session/late_states.h"

namespace casync::runtime {
namespace {

/// The endings of `name` in the state: "" for its own, and those of late results.
std::vector<std::string> endings_of(const std::string& name, const SessionState& state) {
  std::vector<std::string> endings;
  for (auto at = state.gradients.lower_bound(name); at != state.gradients.end() && at->first.starts_with(name); ++at) {
    const std::string ending = at->first.substr(name.size());
    if (ending.empty() || ending.starts_with(kLateMark)) endings.push_back(ending);
  }
  return endings;
}

/// The beginning of a member's codec.
std::string label_of(const GradientSpec& group, std::size_t member) {
  const PlaceInGroup place = place_in_group(group, member);
  return "elements " + std::to_string(place.first) + " to " + std::to_string(place.first + place.count) + " of " +
         std::to_string(group.elements()) + " in group " + group.name + ": ";
}

/// Copies arrays of `count` elements from one memory to another, of which each has its own stride.
void copy_arrays(const float* from, Elements from_stride, float* to, Elements to_stride, Elements count,
                 std::size_t arrays) {
  for (std::size_t i = 0; i < arrays; ++i) std::copy_n(from + i * from_stride, count, to + i * to_stride);
}

/// Appends the floats of `from` that come after the first `count`.
void append_from(const std::vector<float>& from, Elements count, std::vector<float>& to) {
  to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(count), from.end());
}

/// The parts of `ranges` that lie within `count` elements, and begin at `first`.
std::vector<GradientState::Range> ranges_within(const std::vector<GradientState::Range>& ranges, Elements first,
                                                Elements count) {
  std::vector<GradientState::Range> within;
  for (const GradientState::Range& range : ranges) {
    const Elements from = std::max(range.first, first);
    const Elements to = std::min(range.first + range.count, first + count);
    if (from < to) within.push_back({from - first, to - from});
  }
  return within;
}

/// And back: appends those of a part that begins at `first`.
void append_ranges(const std::vector<GradientState::Range>& ranges, Elements first,
                   std::vector<GradientState::Range>& to) {
  for (const GradientState::Range& range : ranges) to.push_back({first + range.first, range.count});
}

/// The first member's part has, in addition, the floats of the whole that are no array.
GradientState part_of(const GradientSpec& group, std::size_t member, const GradientState& whole) {
  const auto [first, count] = place_in_group(group, member);
  const Elements all = group.elements();
  const std::size_t arrays = all == 0 ? 0 : whole.residual.size() / all;
  GradientState part{label_of(group, member) + whole.codec, std::vector<float>(arrays * count), {}, whole.is_residual};
  copy_arrays(whole.residual.data() + first, all, part.residual.data(), count, count, arrays);
  if (member == 0) append_from(whole.residual, arrays * all, part.residual);
  part.owned = ranges_within(whole.owned, first, count);
  part.sent = ranges_within(whole.sent, first, count);
  part.op = whole.op;
  return part;
}

Status refusal(const GradientSpec& group, std::size_t member, const std::string& why) {
  return invalid_argument("gradient " + group.members[member].name + ": " + why);
}

/// InvalidArgument: the part names elements that the member does not have.
Status check_ranges(const GradientSpec& group, std::size_t member, const GradientState& part) {
  const Elements count = place_in_group(group, member).count;
  const GradientState::Range* const outside = range_outside(part, count);
  if (outside == nullptr) return Status::ok();
  return refusal(group, member, text_of_outside(*outside, count));
}

/// The parts of the members, in their order, whose names have this ending.
Result<std::vector<const GradientState*>> parts_of(const GradientSpec& group, const std::string& ending,
                                                   const SessionState& state) {
  std::vector<const GradientState*> parts;
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    const auto found = state.gradients.find(group.members[i].name + ending);
    if (found == state.gradients.end()) {
      return refusal(group, i, "the state has nothing of it, and it has others of group " + group.name);
    }
    const GradientState& part = found->second;
    const std::string label = label_of(group, i);
    if (!part.codec.starts_with(label)) {
      return refusal(group, i, "the state is of " + part.codec + ", here it is " + label.substr(0, label.size() - 2));
    }
    if (const Elements count = place_in_group(group, i).count;
        i > 0 && (count == 0 ? !part.residual.empty() : part.residual.size() % count != 0)) {
      return refusal(
          group, i,
          "a state of " + std::to_string(part.residual.size()) + " elements, it has " + std::to_string(count));
    }
    CASYNC_RETURN_IF_ERROR(check_ranges(group, i, part));
    parts.push_back(&part);
  }
  return parts;
}

/// The number of arrays that the parts are of, by the last one with elements: the first one has more than its arrays.
std::size_t arrays_of(const GradientSpec& group, const std::vector<const GradientState*>& parts) {
  for (std::size_t i = parts.size(); i-- > 0;) {
    if (const Elements count = place_in_group(group, i).count; count > 0) return parts[i]->residual.size() / count;
  }
  return 0;
}

Result<GradientState> whole_of(const GradientSpec& group, const std::vector<const GradientState*>& parts) {
  const auto codec_of = [&](std::size_t i) { return parts[i]->codec.substr(label_of(group, i).size()); };
  const Elements all = group.elements();
  const std::size_t arrays = arrays_of(group, parts);
  GradientState whole{codec_of(0), {}, {}, parts[0]->is_residual, {}, parts[0]->op};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Elements in_arrays = arrays * place_in_group(group, i).count;
    const std::size_t own = parts[i]->residual.size();
    const bool fits = i > 0 ? own == in_arrays : own >= in_arrays && (all == 0 || own - in_arrays < all);
    if (!fits || codec_of(i) != whole.codec || parts[i]->op != whole.op) {
      return refusal(group, i, "its state does not belong to those of the others in group " + group.name);
    }
  }
  whole.residual.resize(arrays * all);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto [first, count] = place_in_group(group, i);
    copy_arrays(parts[i]->residual.data(), count, whole.residual.data() + first, all, count, arrays);
    append_ranges(parts[i]->owned, first, whole.owned);
    append_ranges(parts[i]->sent, first, whole.sent);
  }
  append_from(parts[0]->residual, arrays * place_in_group(group, 0).count, whole.residual);
  return whole;
}

}  // namespace

PlaceInGroup place_in_group(const GradientSpec& group, std::size_t member) {
  PlaceInGroup place;
  for (std::size_t i = 0; i <= member; ++i) {
    place.first += place.count;
    place.count = 1;
    for (const std::int64_t extent : group.members[i].shape) place.count *= static_cast<Elements>(extent);
  }
  return place;
}

void split_states(const GradientSpec& group, SessionState& state) {
  for (const std::string& ending : endings_of(group.name, state)) {
    const GradientState whole = std::move(state.gradients.extract(group.name + ending).mapped());
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      state.gradients.insert_or_assign(group.members[i].name + ending, part_of(group, i, whole));
    }
  }
}

Status join_states(const GradientSpec& group, SessionState& state) {
  std::vector<std::string> endings;
  for (const GroupMember& member : group.members) {
    for (std::string& ending : endings_of(member.name, state)) {
      if (std::find(endings.begin(), endings.end(), ending) == endings.end()) endings.push_back(std::move(ending));
    }
  }
  SessionState joined = state;
  for (const std::string& ending : endings) {
    const Result<std::vector<const GradientState*>> parts = parts_of(group, ending, state);
    if (!parts) return parts.status();
    Result<GradientState> whole = whole_of(group, *parts);
    if (!whole) return whole.status();
    for (const GroupMember& member : group.members) joined.gradients.erase(member.name + ending);
    joined.gradients.insert_or_assign(group.name + ending, std::move(*whole));
  }
  state = std::move(joined);
  return Status::ok();
}

}  // namespace casync::runtime
