// SPDX-License-Identifier: Apache-2.0
//
// Codecs once more, from their publications and docs/codecs.md, in plain loops over doubles: what sessions are compared
// with. Nothing of compll/ is used here.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace casync::test {

using Vector = std::vector<double>;

/// D(E(x)) of one codec, for a whole partition.
using Told = std::function<Vector(const Vector&)>;

/// What is known of a codec without its program.
struct ToldCodec {
  std::string choice;     ///< as in a plan: name: "int8" param { ... }
  Told told;              ///< null: it draws random numbers
  bool feedback = false;  ///< by itself: what is not told is added to the next step's gradient
  bool votes = false;     ///< a rank contributes its code and nothing else
  double step = 0;  ///< a value on the edge between two codes may go either way; so far apart are they, per magnitude
};

/// One or more of each class of codec that is a function of what it is given.
std::vector<ToldCodec> told_codecs();

}  // namespace casync::test
