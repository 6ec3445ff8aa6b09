// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "compll/lang/program.h"

namespace casync::compll {

/// The names of a routine's variables and sizes in generated text, and how often each variable is used.
class WholeNames {
 public:
  WholeNames(const Program& program, const Routine& routine);

  std::size_t uses(VariableId id) const { return uses_[id]; }
  /// Uses of all results of a step.
  std::size_t uses(const Step& step) const;

  std::string name(VariableId id) const;
  /// Calls a variable by another name: that of another variable, or of an argument.
  void rename(VariableId id, const std::string& name) { other_names_[id] = name; }
  std::string temporary(const std::string& word) { return word + "_t" + std::to_string(temporaries_++); }

  static std::string in_parameters(ParameterId id) { return "parameter" + std::to_string(id); }
  static std::string block_size(const Constant& constant);
  /// The number of elements of a value.
  static std::string size(const Type& type);

 private:
  void count_uses(const Term& term);
  void count_uses(const Body& body);
  void count_uses(const std::vector<Step>& steps);

  const Program& program_;
  std::vector<std::size_t> uses_;  ///< for each variable
  std::map<VariableId, std::string> other_names_;
  std::size_t temporaries_ = 0;
};

}  // namespace casync::compll
