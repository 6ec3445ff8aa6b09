// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "compll/lang/syntax/tree.h"
#include "compll/lang/terms.h"

namespace casync::compll {

struct CodeChecker;

/// Makes terms of calls: functions of the file and of elements, operators, conversions and random numbers.
class CallChecker {
 public:
  explicit CallChecker(CodeChecker& code) : code_(code) {}

  Terms check(const Expression& at, const Call& call);
  /// Refuses another number of arguments; `form` is an example of a call.
  void need_arguments(const Expression& at, const Call& call, std::size_t least, std::size_t most,
                      const std::string& form);

 private:
  TermPtr check_conversion(const Expression& at, const Call& call);
  TermPtr check_function(const Expression& at, const Call& call);
  TermPtr random(const Expression& at, const Call& call);
  std::uint32_t numbered_purpose(const Call& call);
  /// The purpose of a place that draws numbers of its own.
  std::uint32_t new_purpose(Span at);
  TermPtr random_real(const Expression& at, const Call& call, std::uint32_t purpose);
  TermPtr random_whole(const Expression& at, const Call& call, ScalarType type, std::uint32_t purpose);
  [[noreturn]] void refuse_word(const Call& call);

  CodeChecker& code_;
  std::uint32_t purposes_ = 0;  ///< places that draw random numbers
};

}  // namespace casync::compll
