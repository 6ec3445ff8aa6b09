// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/plan/offers.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "casync/planner/search/measured.h"
#include "compll/codec/codec.h"

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
    if (info.identity || info.coded_terms || info.has_result || info.rounds > 0) continue;
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
