// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/kept_roles.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>

#include "runtime/executor/answering.h"

namespace casync::runtime {
namespace {

using Range = GradientState::Range;

constexpr const char* kBeginAnew = "leave this gradient out of the state on every rank to begin it anew";

Range range_of(const Slice& slice) { return {slice.first, slice.count}; }

/// The ranges in ascending order, with those that touch as one.
std::vector<Range> united(std::vector<Range> ranges) {
  std::erase_if(ranges, [](const Range& one) { return one.count == 0; });
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.first < b.first; });
  std::vector<Range> whole;
  for (const Range& one : ranges) {
    if (whole.empty() || one.first > whole.back().first + whole.back().count) {
      whole.push_back(one);
      continue;
    }
    Range& last = whole.back();
    last.count = std::max(last.first + last.count, one.first + one.count) - last.first;
  }
  return whole;
}

KeptRoles saved_roles(const GradientState& state) { return {united(state.owned), united(state.sent)}; }

/// The weight of a residual in the result for each element, as many as the run has. `contribution`: that of one rank.
std::vector<double> weights_of(const KeptRoles& roles, Elements elements, double contribution) {
  std::vector<double> weights(elements, 0.0);
  const auto fill = [&](const Range& range, double weight) {
    std::fill_n(weights.begin() + static_cast<std::ptrdiff_t>(range.first), range.count, weight);
  };
  for (const Range& range : roles.sent) fill(range, contribution);
  for (const Range& range : roles.owned) fill(range, 1);
  return weights;
}

double weight_of_contribution(const GradientRun& run, ReduceOp op, int ranks) {
  if (op != ReduceOp::kAverage) return 1;
  const int contributors = run.scale.contributors();
  return 1.0 / (contributors > 0 ? contributors : ranks);
}

/// Returns true if one residual for each element is all that there is.
bool may_change_roles(const GradientRun& run, const GradientState& state) {
  return keeps_residual_alone(run) && !run.asynchronous && state.residual.size() == run.elements;
}

Status refuse_roles(const GradientRun& run, const std::string& why) {
  return invalid_argument("gradient " + run.spec.name + ": " + why);
}

Status refuse_owners(const GradientRun& run, const std::string& why) {
  return refuse_roles(run,
                      "its owners have changed since the state was saved, as they depend on all gradients that are "
                      "declared together, and " +
                          why + ": declare the gradients of that time in their order, or " + kBeginAnew);
}

}  // namespace

const Range* range_outside(const GradientState& state, Elements elements) {
  for (const std::vector<Range>* ranges : {&state.owned, &state.sent}) {
    for (const Range& range : *ranges) {
      if (range.first > elements || range.count > elements - range.first) return &range;
    }
  }
  return nullptr;
}

std::string text_of_outside(const Range& range, Elements elements) {
  return "its state names " + std::to_string(range.count) + " elements from " + std::to_string(range.first) +
         " on, it has " + std::to_string(elements) + ": this state is damaged";
}

KeptRoles roles_of(const GradientRun& run) {
  KeptRoles roles;
  if (run.owner_side()) {
    const Answering& answering = *run.owner_side()->answering;
    answering.for_each_task([&](TaskId task) { roles.owned.push_back(range_of(answering.of(task).slice())); });
    return roles;
  }
  if (run.rounds || run.related.neighbourhoods() > 0) return roles;
  const auto keeps = [&](BufferId code) { return run.codec_of(code).info().states != 0; };
  for (const Primitive& task : run.graph.tasks()) {
    if (const Encode* const encode = std::get_if<Encode>(&task); encode != nullptr && keeps(encode->to)) {
      roles.sent.push_back(range_of(encode->from));
    }
    const Merge* const merge = std::get_if<Merge>(&task);
    if (merge == nullptr || !keeps(merge->to)) continue;
    (merge->last ? roles.owned : roles.sent).push_back(range_of(run.buffers.of(merge->to).slice));
  }
  return {united(std::move(roles.owned)), united(std::move(roles.sent))};
}

bool keeps_residual_alone(const GradientRun& run) {
  return !run.rounds && run.related.neighbourhoods() == 0 && run.kept.is_residual();
}

bool has_other_roles(const GradientRun& run, const GradientState& state) {
  if (state.op.empty() || state.residual.empty()) return false;
  const KeptRoles here = roles_of(run);
  return KeptRoles{united(here.owned), united(here.sent)} != saved_roles(state);
}

Status check_roles(const GradientRun& run, const GradientState& state, ReduceOp op, int ranks) {
  if (state.op.empty() || state.residual.empty()) return Status::ok();
  if (state.op != name_of(op)) {
    return refuse_roles(run, "the state is of a session with op " + state.op + ", here it is " +
                                 std::string(name_of(op)) + ": open the session with that one, or " + kBeginAnew);
  }
  if (const Range* const outside = range_outside(state, run.elements)) {
    return refuse_roles(run, text_of_outside(*outside, run.elements));
  }
  if (!has_other_roles(run, state)) return Status::ok();
  if (!may_change_roles(run, state)) {
    return refuse_owners(run, state.codec + " keeps more than a residual, which belongs to its owners");
  }
  const double contribution = weight_of_contribution(run, op, ranks);
  const std::vector<double> old = weights_of(saved_roles(state), run.elements, contribution);
  const std::vector<double> here = weights_of(roles_of(run), run.elements, contribution);
  for (std::size_t i = 0; i < here.size(); ++i) {
    if (old[i] > 0 && here[i] == 0 && state.residual[i] != 0) {
      return refuse_owners(run, "this rank encodes element " + std::to_string(i) +
                                    " no more, so that it would never send what it has not sent of it");
    }
  }
  return Status::ok();
}

std::vector<float> in_roles_of(const GradientRun& run, const GradientState& state, ReduceOp op, int ranks) {
  const double contribution = weight_of_contribution(run, op, ranks);
  const std::vector<double> old = weights_of(saved_roles(state), run.elements, contribution);
  const std::vector<double> here = weights_of(roles_of(run), run.elements, contribution);
  std::vector<float> kept = state.residual;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (old[i] == here[i]) continue;
    kept[i] = here[i] == 0 ? 0.0f : static_cast<float>(kept[i] * (old[i] / here[i]));
  }
  return kept;
}

}  // namespace casync::runtime
