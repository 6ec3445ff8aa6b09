// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/plan/rules.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "casync/planner/decide.h"
#include "casync/planner/plan_file.h"
#include "casync/planner/search/limits.h"
#include "tools/casync/plan/offers.h"

namespace casync::tools {
namespace {

/// What rules fix is within what the same rules allow.
Status check_fixed(const CodecLimits& limits) {
  if (!limits.codec || !limits.max_error) return Status::ok();
  for (const CodecChoice& choice : {*limits.codec, limits.second_hop.value_or(*limits.codec)}) {
    const Result<double> error = measured_error(choice);
    if (!error) return error.status();
    if (*error <= *limits.max_error) continue;
    char text[160];
    std::snprintf(text, sizeof text, "` loses %.3g of the squared values, and max_error is %.3g", *error,
                  *limits.max_error);
    return plan_error("codec `" + text_of(choice) + text + " (" + limits.by + ")");
  }
  return Status::ok();
}

/// All that is within the largest budget, and what is named.
Result<Offers> offers_for(const PlanInputs& inputs, const PlanRequest& request,
                          const std::vector<CodecLimits>& limits) {
  double largest = inputs.max_error;
  for (const CodecLimits& one : limits) {
    if (one.is_open && one.allowed.empty()) largest = std::max(largest, one.max_error.value_or(0));
  }
  const bool named = !inputs.codecs.empty();
  Result<std::vector<CodecOffer>> for_all = named ? offers_of(inputs.codecs) : offers_within(largest, request.profile);
  if (!for_all) return for_all.status();
  Offers offers{std::move(*for_all), 0, named ? 1 : inputs.max_error};
  offers.for_all = offers.codecs.size();
  for (const CodecLimits& one : limits) {
    for (const CodecChoice& choice : one.allowed) CASYNC_RETURN_IF_ERROR(add_offer(choice, offers.codecs));
  }
  return offers;
}

}  // namespace

Status take_rules(const PlanInputs& inputs, ReadInputs& read) {
  const Result<Plan> rules = read_plan_file(inputs.rules);
  if (!rules) return rules.status();
  PlanRequest& request = read.request;
  std::vector<GradientSpec> gradients;
  std::vector<CodecLimits> limits;
  for (const TrainedGradient& gradient : request.training.gradients) {
    gradients.push_back(gradient.spec);
    limits.push_back(codec_limits(*rules, gradient.spec.name));
    const Status fixed = check_fixed(limits.back());
    if (!fixed) {
      return Status(fixed.code(), inputs.rules + ": gradient `" + gradient.spec.name + "`: " + fixed.message());
    }
  }
  for (const std::string& remark : remarks(*rules, gradients, request.topology)) {
    read.remarks.push_back(inputs.rules + ": " + remark);
  }
  Result<Offers> offers = offers_for(inputs, request, limits);
  if (!offers) return Status(offers.status().code(), inputs.rules + ": " + offers.status().message());
  request.limits = limits_of(*rules, request.training, request.topology.ranks, *offers);
  request.codecs = std::move(offers->codecs);
  request.seed = rules->seed;
  if (request.mode == SyncMode{}) request.mode = rules->mode;
  return Status::ok();
}

}  // namespace casync::tools
