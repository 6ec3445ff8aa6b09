// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/planning/rules.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "casync/planner/decide.h"
#include "casync/planner/loss_table.h"
#include "casync/planner/plan_file.h"
#include "casync/planner/search/limits.h"
#include "tools/casync/planning/offers.h"
#include "tools/casync/scenario/scenario.h"

namespace casync::tools {
namespace {

/// Checks that the codec that rules fix for gradient `at` is within the same rules' max_error.
Status check_fixed(const CodecLimits& limits, std::size_t at, Losses& losses) {
  if (!limits.codec || !limits.max_error) return Status::ok();
  for (const CodecChoice& choice : {*limits.codec, limits.second_hop.value_or(*limits.codec)}) {
    const Result<CodecOffer> offer = losses.of(choice);
    if (!offer) return offer.status();
    const double error = offer->error_of(at);
    if (error <= *limits.max_error) continue;
    char text[160];
    std::snprintf(text, sizeof text, "` loses %.3g of the squared values, and max_error is %.3g", error,
                  *limits.max_error);
    return plan_error("codec `" + text_of(choice) + text + " (" + limits.by + ")");
  }
  return Status::ok();
}

/// The largest max_error of the gradients that may have any codec within it.
double largest_budget(const PlanInputs& inputs, const std::vector<CodecLimits>& limits) {
  double largest = inputs.by_loss() ? 0 : inputs.budget();
  for (const CodecLimits& one : limits) {
    if (one.is_open && one.allowed.empty()) largest = std::max(largest, one.max_error.value_or(0));
  }
  return largest;
}

/// All codecs within the largest budget, and those that are named.
Result<Offers> offers_for(const PlanInputs& inputs, const PlanRequest& request, const std::vector<CodecLimits>& limits,
                          Losses& losses) {
  const double budget = largest_budget(inputs, limits);
  const bool named = !inputs.codecs.empty(), limited = !inputs.rules.empty() || losses.recorded();
  Result<std::vector<CodecOffer>> for_all = named              ? offers_of(inputs.codecs, losses)
                                            : inputs.by_loss() ? offers_by_loss(budget, request, losses)
                                                               : offers_within(budget, request, losses);
  if (!for_all) return for_all.status();
  if (!named && inputs.goal_is_loss) {
    // A codec of unknown loss would win over trained ones for no other reason.
    std::erase_if(*for_all, [](const CodecOffer& offer) {
      return offer.error > 0 && !more_steps(offer.choice, offer.choice).has_value();
    });
  }
  Offers offers{std::move(*for_all), 0, inputs.budget()};
  if (named || inputs.by_loss()) offers.max_error = kAnyError;
  for (const CodecChoice& choice : inputs.judged) {
    if (!named && limited) CASYNC_RETURN_IF_ERROR(add_offer(choice, offers.codecs, losses));
  }
  offers.for_all = offers.codecs.size();
  for (const CodecLimits& one : limits) {
    for (const CodecChoice& choice : one.allowed) CASYNC_RETURN_IF_ERROR(add_offer(choice, offers.codecs, losses));
    // A codec that is fixed may go over a ring or a tree where its loss allows that.
    if (one.codec) CASYNC_RETURN_IF_ERROR(add_offer(*one.codec, offers.codecs, losses));
  }
  return offers;
}

/// Biases and the scales of norms: so small that a codec saves nothing, and of more weight than their size says.
bool is_small_vector(const GradientSpec& spec) {
  constexpr Elements kSmallVector = Elements{1} << 16;
  return spec.shape.size() <= 1 && spec.elements() <= kSmallVector;
}

/// Small vectors stay as they are, unless a rule says something of their codec.
void leave_small_vectors(const Plan& rules, PlanRequest& request) {
  for (std::size_t g = 0; g < request.limits.size(); ++g) {
    const GradientSpec& spec = request.training.gradients[g].spec;
    const CodecLimits said = codec_limits(rules, spec.name);
    if (is_small_vector(spec) && !said.codec && !said.is_open) request.limits[g].offers.clear();
  }
}

bool has_small_vectors(const Training& training) {
  return std::any_of(training.gradients.begin(), training.gradients.end(),
                     [](const TrainedGradient& gradient) { return is_small_vector(gradient.spec); });
}

/// PlanError, naming the gradient: the plan would be one that its reader refuses (check_warm_up in plan_io.cc). Rules
/// that have both are refused when they are read, so local SGD is the command line's.
Status check_local_warm_up(const PlanRequest& request) {
  if (!request.mode.is_local()) return Status::ok();
  for (std::size_t g = 0; g < request.limits.size(); ++g) {
    if (!request.limits[g].warm_up_from) continue;
    return plan_error("gradient `" + request.training.gradients[g].spec.name +
                      "`: warm_up_from beside --local-sgd, expected one of the two");
  }
  return Status::ok();
}

Status take_rules(const PlanInputs& inputs, const Plan& rules, Losses& losses, ReadInputs& read) {
  PlanRequest& request = read.request;
  std::vector<GradientSpec> gradients;
  std::vector<CodecLimits> limits;
  for (const TrainedGradient& gradient : request.training.gradients) {
    limits.push_back(codec_limits(rules, gradient.spec.name));
    const Status fixed = check_fixed(limits.back(), gradients.size(), losses);
    if (!fixed) return Status(fixed.code(), "gradient `" + gradient.spec.name + "`: " + fixed.message());
    gradients.push_back(gradient.spec);
  }
  for (const std::string& remark : remarks(rules, gradients, request.topology)) {
    read.remarks.push_back(inputs.rules + ": " + remark);
  }
  Result<Offers> offers = offers_for(inputs, request, limits, losses);
  if (!offers) return offers.status();
  request.limits = limits_of(rules, request.training, request.topology.ranks, *offers);
  leave_small_vectors(rules, request);
  request.codecs = std::move(offers->codecs);
  request.seed = rules.seed;
  request.coordinated = rules.coordinated;
  if (rules.coordinated) read.remarks.push_back(inputs.rules + ": " + kUncoordinated);
  if (request.mode == SyncMode{}) request.mode = rules.mode;
  return check_local_warm_up(request);
}

/// One budget or one list for all: limits only where a budget means something else for each gradient, or where some are
/// small vectors.
Status take_options(const PlanInputs& inputs, Losses& losses, PlanRequest& request) {
  Result<Offers> offers = offers_for(inputs, request, {}, losses);
  if (!offers) return offers.status();
  const bool vectors = has_small_vectors(request.training);
  if (vectors || inputs.by_loss() || (losses.recorded() && inputs.codecs.empty())) {
    request.limits = limits_of({}, request.training, request.topology.ranks, *offers);
    leave_small_vectors({}, request);
  }
  request.codecs = std::move(offers->codecs);
  if (inputs.codecs.empty() && !inputs.by_loss()) request.max_error = inputs.budget();
  return Status::ok();
}

}  // namespace

Status take_limits(const PlanInputs& inputs, Losses& losses, ReadInputs& read) {
  if (inputs.rules.empty()) return take_options(inputs, losses, read.request);
  const Result<Plan> rules = read_plan_file(inputs.rules);
  if (!rules) return rules.status();
  if (rules->credit_bytes > 0) {
    return plan_error(inputs.rules + ": credit_bytes, which the planner does not search with: leave it out");
  }
  if (!rules->groups.empty()) {
    return plan_error(inputs.rules + ": group `" + rules->groups.front().name +
                      "`: the planner chooses for single gradients, leave groups out");
  }
  const Status taken = take_rules(inputs, *rules, losses, read);
  return taken ? Status::ok() : Status(taken.code(), inputs.rules + ": " + taken.message());
}

}  // namespace casync::tools
