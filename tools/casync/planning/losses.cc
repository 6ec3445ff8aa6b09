// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/planning/losses.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "compll/codec/codec.h"
#include "compll/codec/rounds_codec.h"
#include "tools/casync/codec_figures/figures.h"
#include "tools/casync/codec_figures/samples.h"

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
  // A value too large for a codec decodes to infinity, and a difference of infinities is NaN.
  return std::isfinite(error) ? error / norm : std::numeric_limits<double>::infinity();
}

double typical_error(const compll::Codec& codec) {
  return std::max(error_of(codec, gaussian_sample(kTried, 1)), error_of(codec, heavy_sample(kTried, 2)));
}

}  // namespace

bool Losses::recorded() const {
  return std::any_of(samples_.begin(), samples_.end(), [](const auto& sample) { return !sample.empty(); });
}

Result<CodecOffer> Losses::of(const CodecChoice& choice) {
  const std::string name = text_of(choice);
  const auto known = known_.find(name);
  if (known != known_.end()) return known->second;
  Result<CodecOffer> offer = measured(choice);
  if (!offer) return offer.status();
  return known_.emplace(name, std::move(*offer)).first->second;
}

Result<CodecOffer> Losses::measured(const CodecChoice& choice) const {
  if (compll::has_rounds(choice.name)) {
    const auto codec = compll::make_rounds_codec(choice.name, choice.parameters);
    if (!codec) return codec.status();
    return CodecOffer{choice, measure_rounds(**codec, 0).first};
  }
  const Result<std::unique_ptr<compll::Codec>> codec = compll::make_codec(choice.name, choice.parameters);
  if (!codec) return codec.status();
  if ((*codec)->info().identity) return CodecOffer{choice, 0.0};
  CodecOffer offer{choice, typical_error(**codec)};
  if (!recorded()) return offer;
  for (const std::vector<float>& sample : samples_) {
    offer.recorded.push_back(sample.empty() ? std::nullopt : std::optional(error_of(**codec, sample)));
  }
  return offer;
}

}  // namespace casync::tools
