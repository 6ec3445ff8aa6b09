// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "compll/lang/program.h"
#include "compll/lang/syntax/tree.h"

namespace casync::compll {

struct CodeChecker;

/// Checks the sections of a payload: those that `concat` sends and `extract` reads.
class SectionChecker {
 public:
  explicit SectionChecker(CodeChecker& code) : code_(code) {}

  /// Returns true for the words that say how a section is coded.
  static bool is_mark(std::string_view name);

  /// `compressed = concat(a, packed(b));`
  void assign_sections(const Word& name, const Expression& value);
  /// `extract(compressed, a, packed(b));`: the variables get the sections, in their order.
  void extract(const Statement& at, const Call& call);

 private:
  struct MarkedSection {
    std::string_view word;           ///< of its coding; empty: it has none
    const Expression* of = nullptr;  ///< the section itself
  };
  MarkedSection marked_section(const Expression& argument);
  Coding coding_of(const MarkedSection& marked, const Type& type);
  void need_count(const Expression& value, const Call& concat);
  void add_section(const Expression& argument, std::size_t index);
  void extract_section(const Expression& argument, std::size_t index);
  [[noreturn]] void refuse_mark(const Expression& argument, std::size_t section);

  CodeChecker& code_;
};

}  // namespace casync::compll
