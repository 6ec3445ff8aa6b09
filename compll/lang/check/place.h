// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compll/lang/program.h"

namespace casync::compll {

struct Control;
struct Declared;

/// The most variables, and repeated bodies, of a program with calls and repeats written out: a small file does not
/// become a large program.
inline constexpr std::size_t kMostSteps = 20000;
/// The most statements, expressions and declared names, counted likewise.
inline constexpr std::size_t kMostChecked = 500000;
/// The most expressions inside of each other, with those of functions that they call. More than the height that the
/// parser allows, and less than any stack holds.
inline constexpr int kMostInside = 1000;

/// Thrown and caught inside the checker only, after the mistake has been reported.
struct CheckMistake {};

/// The task of a function of the file. Encode and merge make sections of a gradient, decode a gradient of sections, and
/// result a gradient of decoded elements.
/// Synchronize takes the place of them all.
enum class RoutineKind : std::uint8_t { kEncode, kMerge, kDecode, kResult, kSynchronize };

/// Counts something while it lives.
class Counted {
 public:
  explicit Counted(int& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  int& count_;
};

/// The place of the file that is being checked.
struct Place {
  Routine* routine = nullptr;
  RoutineKind kind = RoutineKind::kEncode;
  const Declared* output = nullptr;    ///< the name that the routine's result is assigned to
  std::vector<Step>* steps = nullptr;  ///< receives assignments
  Control* control = nullptr;          ///< of the function whose body is checked
  int level = 0;                       ///< functions applied to elements, around this place
  int calls = 0;                       ///< functions being checked, one inside of the other
  int branches = 0;                    ///< of `if`, around this place and around what has called it
  int expressions = 0;                 ///< being checked, one inside of the other
  std::size_t outside_choice = 0;      ///< slots of variables from outside of the `?` around this place, or 0

  bool makes_gradient() const { return kind != RoutineKind::kEncode && kind != RoutineKind::kMerge; }
};

}  // namespace casync::compll
