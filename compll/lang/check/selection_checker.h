// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "compll/lang/check/fill.h"
#include "compll/lang/program.h"
#include "compll/lang/terms.h"

namespace casync::compll {

struct CodeChecker;

/// Checks arrays that have as many elements as a condition holds for: those that `where` and `filter` without a count
/// make, and arrays made of them. In the program each is as long as the array that was selected from, and a variable
/// says how many of its elements count. A fill stands behind these; nothing that is made of the elements may depend on
/// it:
///
///   places = where(x, f)     of six elements, f holds for two: 1 4 - - - -, the fill is kNowhere, the count 2
///   gather(x, places)        x[1] x[4] 0 0 0 0: the fill is 0, as x has no element at kNowhere
///   reduce(those, min)       of x[1] x[4] and four times infinity, which filled() puts in place of the zeros
class SelectionChecker {
 public:
  explicit SelectionChecker(CodeChecker& code) : code_(code) {}

  /// Forgets the counts of the previous routine.
  void begin_routine();
  /// Removes counts that nothing asked for.
  void end_routine();

  /// The places of the elements of `holds` that are true; `text` is how the program has it.
  TermPtr places_where(TermPtr holds, const std::string& text, Span at);

  bool is_selection(const Type& type) const { return type.extent && is_selection(*type.extent); }
  bool is_selection(const Extent& extent) const {
    return extent.kind == Extent::Kind::kSized && sizes_.contains(extent.count.value);
  }
  /// Takes a selection of merge for the one of encode that is sent as the same section; `section` is a term of it.
  void take_for(const Extent& made, const Extent& wanted, Term& section);
  /// Refuses an operator that cannot tell a selection's elements from what is behind them.
  void need_none(const Term& array, Span at, const std::string& of, const std::string& hint) const;

  /// The number of elements of a selection: one element of type uint.
  TermPtr count_of(const Extent& extent, Span at);
  /// The selection whose number of elements this term is, if there is one.
  std::optional<Extent> counted_by(const Term& size) const;
  /// An element of a selection at this index, or 0 behind the last one.
  TermPtr element_of(TermPtr array, TermPtr index, Span at);

  /// The array with `fill` behind its last element. Arrays that are no selection, and those that have it there, stay as
  /// they are.
  TermPtr filled(TermPtr array, double fill);
  /// The same, as an array of another type of elements.
  TermPtr filled(TermPtr array, ScalarType type, TermPtr fill);
  /// An array of places whose fill is a place that no array has.
  TermPtr filled_places(TermPtr places);
  /// Places as ints: those that are nowhere are -1.
  TermPtr places_as_ints(TermPtr places);
  Fill fill_of(const Term& array) const;

  /// Notes what stands behind the elements of the variables that a step gives values to.
  void note(const Step& step);
  /// Notes a variable that a section was extracted into.
  void note_extracted(VariableId variable, const Type& type, const Fill& fill);
  /// Notes that a section is the number of elements of a selection, and the variable that it was extracted into.
  void note_count(const Extent& extent, VariableId variable);
  /// Counts the elements of selections whose places were sent without their number.
  void count_extracted();

 private:
  Extent new_extent(const Extent& all, const std::string& text);

  CodeChecker& code_;
  std::set<std::uint32_t> sizes_;               ///< the program's sizes that are selections
  std::set<std::uint32_t> made_;                ///< those of this routine, except those taken for another's
  std::map<std::uint32_t, VariableId> counts_;  ///< of this routine, by size
  std::set<VariableId> own_counts_;             ///< those that the program did not send
  std::map<VariableId, Fill> fills_;            ///< of arrays that are selections
  std::map<std::uint32_t, VariableId> places_;  ///< of this routine, by size
};

}  // namespace casync::compll
