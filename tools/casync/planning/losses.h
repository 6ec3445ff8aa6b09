// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "casync/planner/search/request.h"

namespace casync::tools {

/// Losses of codecs: squared error over squared values of D(E(x)), each codec measured once. Residuals of error
/// feedback count as lost, and a codec that draws random numbers draws the same for all.
class Losses {
 public:
  /// `samples` by position in the training's gradients; empty ones are of gradients of which nothing is known.
  explicit Losses(std::vector<std::vector<float>> samples = {}) : samples_(std::move(samples)) {}

  /// The larger of Gaussian values and of heavy tails; and of each gradient that has a sample, of that. Of a codec that
  /// exchanges within a step only the former, of its first step: a sample is no matrix. Errors as make_codec.
  Result<CodecOffer> of(const CodecChoice& choice);

  /// Any gradient has a sample.
  bool recorded() const;

 private:
  Result<CodecOffer> measured(const CodecChoice& choice) const;

  std::vector<std::vector<float>> samples_;
  std::map<std::string, CodecOffer> known_;  ///< by the choice's text
};

}  // namespace casync::tools
