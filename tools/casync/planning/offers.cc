// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/planning/offers.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "casync/planner/loss_table.h"
#include "casync/planner/search/limits.h"
#include "casync/planner/search/measured.h"
#include "compll/codec/codec.h"
#include "compll/codec/rounds_codec.h"

namespace casync::tools {
namespace {

/// Losses of typical values, and of each recorded gradient.
std::vector<double> all_losses(const CodecOffer& offer) {
  std::vector<double> all{offer.error};
  for (std::size_t g = 0; g < offer.recorded.size(); ++g) all.push_back(offer.error_of(g));
  return all;
}

/// No more of anything, and less of something. Of two codecs, both have losses of the same gradients.
bool is_better(const std::vector<double>& one, const std::vector<double>& other) {
  return one != other && std::equal(one.begin(), one.end(), other.begin(), other.end(), std::less_equal<>());
}

/// It loses at most `max_error` of some of so many gradients; without any, of typical values.
bool is_within(const CodecOffer& offer, double max_error, std::size_t gradients) {
  if (gradients == 0) return offer.error <= max_error;
  for (std::size_t g = 0; g < gradients; ++g) {
    if (offer.error_of(g) <= max_error) return true;
  }
  return false;
}

/// Codecs that decide each step for itself: they keep nothing but a residual, and send their codes to be merged.
bool stands_for_itself(const compll::CodecInfo& info) {
  return !info.identity && !info.coded_terms && !info.has_result && info.rounds == 0;
}

/// A codec of the trainings.
struct TrainedCodec {
  CodecChoice choice;
  double bits = 0, steps = 0;  ///< additional steps with the codec on both hops
  bool in_pair = false;        ///< trained with another codec on the other hop
};

void add_trained(const CodecChoice& choice, bool in_pair, const Profile& profile, std::vector<TrainedCodec>& trained) {
  const auto known =
      std::find_if(trained.begin(), trained.end(), [&](const TrainedCodec& one) { return one.choice == choice; });
  if (known != trained.end()) {
    known->in_pair = known->in_pair || in_pair;
    return;
  }
  if ((measures_codecs(profile) && !is_measured(profile, choice)) || compll::has_rounds(choice.name)) return;
  const Result<std::unique_ptr<compll::Codec>> codec = compll::make_codec(choice.name, choice.parameters);
  // Values of some parameters need a compiler, which this machine may not have.
  if (!codec || !stands_for_itself((*codec)->info())) return;
  trained.push_back({choice, (*codec)->info().bits_per_element, more_steps(choice, choice).value_or(0), in_pair});
}

/// Each codec of the trainings once, of those that the planner may use with this profile and this many more steps.
std::vector<TrainedCodec> trained_codecs(const PlanRequest& request) {
  std::vector<TrainedCodec> trained;
  for (const CodecPair& pair : trained_pairs()) {
    const bool in_pair = !(pair.first == pair.second);
    // A pair that needs too many steps is shown by the codec on both hops at most.
    if (in_pair && more_steps(pair.first, pair.second).value_or(0) > request.most_more_steps) continue;
    for (const CodecChoice& choice : {pair.first, pair.second}) add_trained(choice, in_pair, request.profile, trained);
  }
  std::vector<TrainedCodec> useful;
  std::copy_if(trained.begin(), trained.end(), std::back_inserter(useful), [&](const TrainedCodec& one) {
    if (one.in_pair) return true;
    if (one.steps > request.most_more_steps) return false;
    return request.profile.codecs.contains(one.choice.name) ||
           std::none_of(trained.begin(), trained.end(), [&](const TrainedCodec& other) {
             return is_better({other.bits, other.steps}, {one.bits, one.steps});
           });
  });
  return useful;
}

}  // namespace

Result<std::vector<CodecOffer>> offers_within(double max_error, const PlanRequest& request, Losses& losses) {
  std::vector<CodecOffer> offers;
  std::map<std::string, std::vector<double>> costs;  // bits, then losses
  const bool any_measured = measures_codecs(request.profile);
  for (const std::string& name : compll::codec_names()) {
    // An unmeasured codec counts as fast as the memory, so it would win over measured ones for no other reason.
    if (any_measured && !is_measured(request.profile, {name, {}})) continue;
    const Result<std::unique_ptr<compll::Codec>> codec = compll::make_codec(name);
    if (!codec) return codec.status();
    const compll::CodecInfo& info = (*codec)->info();
    if (!stands_for_itself(info)) continue;
    Result<CodecOffer> offer = losses.of({name, {}});
    if (!offer) return offer.status();
    costs[name] = all_losses(*offer);
    costs[name].insert(costs[name].begin(), info.bits_per_element);
    if (is_within(*offer, max_error, request.training.gradients.size())) offers.push_back(std::move(*offer));
  }
  // Another one that loses no more in no more bits, and nothing measured that could speak for this one.
  const auto is_useless = [&](const CodecOffer& offer) {
    return !request.profile.codecs.contains(offer.choice.name) &&
           std::any_of(offers.begin(), offers.end(), [&](const CodecOffer& other) {
             return is_better(costs[other.choice.name], costs[offer.choice.name]);
           });
  };
  std::vector<CodecOffer> useful;
  std::copy_if(offers.begin(), offers.end(), std::back_inserter(useful),
               [&](const CodecOffer& offer) { return !is_useless(offer); });
  return useful;
}

Result<std::vector<CodecOffer>> offers_by_loss(double max_error, const PlanRequest& request, Losses& losses) {
  std::vector<CodecOffer> offers;
  for (const TrainedCodec& trained : trained_codecs(request)) {
    CASYNC_RETURN_IF_ERROR(add_offer(trained.choice, offers, losses));
  }
  const Result<std::vector<CodecOffer>> within =
      max_error > 0 ? offers_within(max_error, request, losses) : std::vector<CodecOffer>{};
  if (!within) return within.status();
  for (const CodecOffer& offer : *within) CASYNC_RETURN_IF_ERROR(add_offer(offer.choice, offers, losses));
  for (CodecOffer& offer : offers) {
    const bool trained = more_steps(offer.choice, offer.choice).has_value();
    offer.most_error = trained ? std::max(kUnsaidError, 2 * offer.error) : kUnsaidError;
  }
  return offers;
}

Status add_offer(const CodecChoice& choice, std::vector<CodecOffer>& offers, Losses& losses) {
  const auto is_it = [&](const CodecOffer& offer) { return offer.choice == choice; };
  if (choice.name == "none" || std::any_of(offers.begin(), offers.end(), is_it)) return Status::ok();
  Result<CodecOffer> offer = losses.of(choice);
  if (!offer) return offer.status();
  offers.push_back(std::move(*offer));
  return Status::ok();
}

Result<std::vector<CodecOffer>> offers_of(const std::vector<std::string>& names, Losses& losses) {
  std::vector<CodecOffer> offers;
  for (const std::string& name : names) {
    const Result<CodecChoice> choice = parse_codec_choice(name);
    if (!choice) return choice.status();
    CASYNC_RETURN_IF_ERROR(add_offer(*choice, offers, losses));
  }
  return offers;
}

}  // namespace casync::tools
