// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "compll/lang/check/fill.h"
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
  /// Returns the coding of a section that is a selection and has no mark, and whose fill is known.
  Coding coding_of_selection(const MarkedSection& marked, const Type& type, const Fill& fill);
  /// Puts a value that is known behind the last element of a selection. Returns it.
  Fill fill(TermPtr& section, std::string_view mark);
  void need_same(const Expression& argument, const MarkedSection& marked, const Term& section, std::size_t index);
  /// Returns true if a section has its mark of encode, or none where encode lets the coding be chosen.
  bool fits(const MarkedSection& marked, std::size_t index) const;
  void forget_other_counts();
  void need_counts(const Call& concat) const;
  void need_count(const Expression& value, const Call& concat);
  void add_section(const Expression& argument, std::size_t index);
  void extract_section(const Expression& argument, std::size_t index);
  [[noreturn]] void refuse_mark(const Expression& argument, std::size_t section);

  /// More about a section of encode.
  struct Sent {
    bool has_mark = false;         ///< the program says how it is coded
    Fill fill;                     ///< behind the last element of a selection
    std::optional<Extent> counts;  ///< it is the number of elements of this selection
  };

  CodeChecker& code_;
  std::vector<Sent> sent_;
};

}  // namespace casync::compll
