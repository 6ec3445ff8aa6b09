// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "casync/planner/search/request.h"

namespace casync::tools {

/// The larger squared error over squared values, of Gaussian values and of heavy tails; what feedback keeps is lost. Of
/// a codec that exchanges within a step: of its first step. Errors as make_codec.
Result<double> measured_error(const CodecChoice& choice);

/// Those the library has whose every step stands for itself, that lose at most `max_error` on each hop, and of which no
/// other loses less in fewer bits, unless the profile has their costs.
Result<std::vector<CodecOffer>> offers_within(double max_error, const Profile& profile);

/// These, as command lines have them. Errors as parse_codec_choice, make_codec.
Result<std::vector<CodecOffer>> offers_of(const std::vector<std::string>& names);

/// Adds one that is not there yet; `none` is allowed always. Errors as make_codec.
Status add_offer(const CodecChoice& choice, std::vector<CodecOffer>& offers);

}  // namespace casync::tools
