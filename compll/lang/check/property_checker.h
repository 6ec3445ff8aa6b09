// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "compll/lang/check/code_checker.h"
#include "compll/lang/syntax/tree.h"

namespace casync::compll {

/// Checks the declarations of a codec: `summary`, `number`, `class` and the like.
class PropertyChecker {
 public:
  PropertyChecker(const Tree& tree, CodeChecker& code) : tree_(tree), code_(code) {}

  void check();
  /// Declares the names of `shape rows columns;`, which every function sees.
  void declare_shape();
  /// Null if the codec does not declare it.
  const Property* find(std::string_view name) const;

 private:
  void check_word(const Property& property) const;
  void take(const Property& property);
  void take_class(const Property& property);
  void take_feedback(const Property& property);
  bool flag(const Property& property) const;
  std::uint8_t small_number(const Property& property) const;
  double magnitude(const Property& property) const;

  const Tree& tree_;
  CodeChecker& code_;
};

}  // namespace casync::compll
