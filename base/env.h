// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace casync {

/// One CASYNC_* variable, as documented and as read.
struct EnvironmentVariable {
  enum class Type { kText, kFile, kDirectory, kNumber, kFlag };
  const char* name;
  Type type;
  const char* initial;  ///< what holds when it is unset, in words or as a value
  const char* meaning;  ///< one sentence
  double least = 0;     ///< kNumber: the range, both ends included
  double most = 0;
};

/// All of them, in the order docs/environment.md presents them. A reader of any other name is our own fault.
std::span<const EnvironmentVariable> environment_table();

/// The variable's value. Set to nothing is the same as unset.
std::optional<std::string> env_text(const char* name);

/// The same of somebody else's variable, a launcher's or the system's, which is not in the table.
std::optional<std::string> foreign_env_text(const char* name);

/// CASYNC_* as a number. InvalidArgument: not a number, or out of the table's range.
Result<std::optional<double>> env_number(const char* name);

/// 1, true, yes, on; 0, false, no, off. `initial` when unset. InvalidArgument: anything else.
Result<bool> env_flag(const char* name, bool initial);

/// A sentence for each CASYNC_* variable of `environment` ("NAME=value" strings, null at the end) that no one
/// reads, with the name that was probably meant.
std::vector<std::string> unknown_variables(const char* const* environment);

/// Logs these sentences for this process as warnings, the first time it is called.
void warn_unknown_variables();

/// docs/environment.md.
std::string environment_page();

}  // namespace casync
