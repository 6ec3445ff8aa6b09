// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tests/compll/random_programs/expressions.h"

namespace casync::compll::test {

inline const char* const kAll = "n";  ///< the extent of the gradient

/// Functions that expressions call.
inline constexpr const char* kHelpers =
    "float tame(float x) { return abs(x) < 1e18 ? x : 0.25; }\n"
    "float helper(float x, int k) {\n  if (k > 3) { return x * 0.5; }\n  float y = x;\n"
    "  if (x < 0) { y = k - x; }\n  return y;\n}\n";

/// A value of `concat`. Encode and merge make the same ones.
struct SectionWord {
  std::string name;
  TypeWord type;
  std::string extent;            ///< "": one value
  bool places = false;           ///< made by `largest` or `where`
  std::string gathered_at = "";  ///< the section with its places, if it has the gradient's elements there
  std::string coding = "";       ///< the word around it in `concat` and `extract`, if it is coded

  std::string sent() const { return coding.empty() ? name : coding + "(" + name + ")"; }
};

/// The declarations of a random program, and the words for them in its functions.
struct Declarations {
  bool for_tiles = false;
  std::string text;  ///< all of the program outside of encode, merge, decode and result
  std::vector<Scalar> parameters;
  std::vector<std::string> blocks, sizes, states;
  std::string turned;  ///< elements that `hadamard` rotates together
  std::vector<SectionWord> sections;
  bool folds = false;    ///< each function of the program reduces by functions of its own
  bool is_list = false;  ///< decode scatters the last section at the places of the previous one
};

/// Writes the declarations with these choices: first the codec and its parameters, then states and helper functions.
/// `of_codings` chooses codings, and a list at the end of the payload.
Declarations random_declarations(Choices& choices, Choices& of_codings, Expressions& expressions, bool for_tiles);

}  // namespace casync::compll::test
