// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compll/lang/program.h"

namespace casync::compll {

struct CudaWholeRoutine;

/// The addresses where arrays are wanted, and arrays that are another array changed at some places.
class CudaPlaces {
 public:
  explicit CudaPlaces(CudaWholeRoutine& text) : text_(text) {}

  /// Wants the variable's array at this address, if it is made in memory. An address that ends in a comma is a call
  /// without its last argument, which is memory for use if the caller does not want the array.
  void want_at(VariableId id, const std::string& address);
  bool is_wanted(VariableId id) const { return places_.count(id) != 0; }
  /// Returns true if the array was made at this address; of several wanted addresses it is made at the first.
  bool is_at_place(VariableId id, const std::string& address) const;
  /// The address at which an array is made: the one it is wanted at, or memory of its own.
  std::string address_for(std::optional<VariableId> id, const std::string& word, const Type& type);

  /// Called ahead of the steps: finds wanted arrays that are another array changed at some places. That array is made
  /// at the wanted address, and `plan_changes` changes it after all steps.
  void find_changed();
  bool is_changed(const Step& step) const;
  void plan_changes();
  /// Called after all steps: plans the residual, if it is kept; returns false if decoding has to subtract.
  bool plan_residual();

  /// Returns true if no place occurs twice: an operator has made them so, here or in the routine that sent them.
  bool is_distinct(const Term& places) const;
  /// Writes the change of `scatter` to the array at this address; no place occurs twice.
  void write_change(const Term& term, const std::string& address);
  std::string array_of_values(const Term& values);

 private:
  /// The chosen elements in a payload.
  struct Sent {
    const Term *places, *values;
  };
  std::optional<Sent> places_of_residual() const;
  bool is_made_in_memory(VariableId id) const;

  CudaWholeRoutine& text_;
  std::map<VariableId, std::string> places_;
  std::set<VariableId> made_at_place_;
  std::vector<const Step*> changed_;  ///< scatters
};

}  // namespace casync::compll
