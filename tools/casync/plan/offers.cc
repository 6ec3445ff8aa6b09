// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/plan/offers.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "compll/codec/codec.h"
#include "compll/codec/rounds_codec.h"
#include "tools/casync/check/rounds.h"
#include "tools/casync/check/samples.h"

namespace casync::tools {
namespace {

constexpr Elements kTried = Elements{1} << 16;

double error_of(const compll::Codec& codec, const std::vector<float>& values) {
  std::vector<std::byte> payload(codec.encoded_bound(values.size()));
  const compll::Encoded encoded = codec.encode(values.data(), values.size(), {}, {}, payload.data());
  std::vector<float> decoded(values.size());
  codec.decode({payload.data(), encoded.size}, values.size(), decoded.data());
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i], difference = decoded[i] - value;
    error += difference * difference;
    norm += value * value;
  }
  return error / norm;
}

double error_of(const compll::Codec& codec) {
  return std::max(error_of(codec, gaussian_sample(kTried, 1)), error_of(codec, heavy_sample(kTried, 2)));
}

}  // namespace

Result<double> measured_error(const CodecChoice& choice) {
  if (compll::has_rounds(choice.name)) {
    const auto codec = compll::make_rounds_codec(choice.name, choice.parameters);
    if (!codec) return codec.status();
    return measure_rounds(**codec, 0).first;
  }
  const Result<std::unique_ptr<compll::Codec>> codec = compll::make_codec(choice.name, choice.parameters);
  if (!codec) return codec.status();
  return (*codec)->info().identity ? 0.0 : error_of(**codec);
}

Result<std::vector<CodecOffer>> offers_within(double max_error, const Profile& profile) {
  std::vector<CodecOffer> offers;
  std::map<std::string, double> bits;
  for (const std::string& name : compll::codec_names()) {
    const Result<std::unique_ptr<compll::Codec>> codec = compll::make_codec(name);
    if (!codec) return codec.status();
    const compll::CodecInfo& info = (*codec)->info();
    if (info.identity || info.coded_terms || info.has_result || info.rounds > 0) continue;
    const double error = error_of(**codec);
    if (error <= max_error) offers.push_back({{name, {}}, error});
    bits[name] = info.bits_per_element;
  }
  // Another one that loses no more in no more bits, and nothing measured that could speak for this one.
  const auto is_useless = [&](const CodecOffer& offer) {
    return !profile.codecs.contains(offer.choice.name) &&
           std::any_of(offers.begin(), offers.end(), [&](const CodecOffer& other) {
             const auto cost = [&](const CodecOffer& of) { return std::pair(bits[of.choice.name], of.error); };
             return cost(other).first <= cost(offer).first && cost(other).second <= cost(offer).second &&
                    cost(other) != cost(offer);
           });
  };
  std::vector<CodecOffer> useful;
  std::copy_if(offers.begin(), offers.end(), std::back_inserter(useful),
               [&](const CodecOffer& offer) { return !is_useless(offer); });
  return useful;
}

Status add_offer(const CodecChoice& choice, std::vector<CodecOffer>& offers) {
  const auto is_it = [&](const CodecOffer& offer) { return offer.choice == choice; };
  if (choice.name == "none" || std::any_of(offers.begin(), offers.end(), is_it)) return Status::ok();
  const Result<double> error = measured_error(choice);
  if (!error) return error.status();
  offers.push_back({choice, *error});
  return Status::ok();
}

Result<std::vector<CodecOffer>> offers_of(const std::vector<std::string>& names) {
  std::vector<CodecOffer> offers;
  for (const std::string& name : names) {
    const Result<CodecChoice> choice = parse_codec_choice(name);
    if (!choice) return choice.status();
    CASYNC_RETURN_IF_ERROR(add_offer(*choice, offers));
  }
  return offers;
}

}  // namespace casync::tools
