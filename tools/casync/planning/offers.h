// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "casync/planner/search/request.h"
#include "tools/casync/planning/losses.h"

namespace casync::tools {

/// The library's codecs whose every step stands for itself, that lose at most `max_error` of some gradient of
/// `request`, and that no other one beats in every loss and in bits, unless the profile has their costs. If the
/// profile has the costs of any codec: only codecs whose costs it has.
Result<std::vector<CodecOffer>> offers_within(double max_error, const PlanRequest& request, Losses& losses);

/// The codecs that trainings have measured (casync/planner/loss_table.h), and those of offers_within(max_error) unless
/// that is 0. If the
/// profile has the costs of any codec: only codecs whose costs it has. Of the others none that another one beats in
/// steps and in bits. Each may be used for a gradient of which it loses no more than kUnsaidError, or than twice its
/// loss of typical values: more would be another gradient than those of the trainings. Errors as make_codec.
Result<std::vector<CodecOffer>> offers_by_loss(double max_error, const PlanRequest& request, Losses& losses);

/// The codecs of these names, as command lines have them. Errors as parse_codec_choice, make_codec.
Result<std::vector<CodecOffer>> offers_of(const std::vector<std::string>& names, Losses& losses);

/// Adds one that is not there yet; `none` is allowed always. Errors as make_codec.
Status add_offer(const CodecChoice& choice, std::vector<CodecOffer>& offers, Losses& losses);

}  // namespace casync::tools
