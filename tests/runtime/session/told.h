// SPDX-License-Identifier: Apache-2.0
//
// Codecs once more, from their publications and docs/codecs.md, in plain loops over doubles: sessions are compared
// with them. Nothing of compll/ is used here.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace casync::test {

using Vector = std::vector<double>;

/// D(E(x)) of one codec, for a whole partition.
using Told = std::function<Vector(const Vector&)>;

/// A codec as it is known without its program.
struct ToldCodec {
  std::string choice;     ///< as in a plan: name: "int8" param { ... }
  Told told;              ///< null: it draws random numbers
  bool feedback = false;  ///< by itself: what is not told is added to the next step's gradient
  bool votes = false;     ///< a rank contributes its code and nothing else
  double step = 0;        ///< distance of two codes, per magnitude: a value on the edge between them may go either way
};

/// One or more of each class of codec that is a function of what it is given.
std::vector<ToldCodec> told_codecs();

}  // namespace casync::test
