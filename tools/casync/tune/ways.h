// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace casync::tools {

/// Ends the name of a way's folder in which its second run lies.
inline constexpr const char* kAgain = ".again";

/// The ways that a `casync tune` measures: uncompressed, with the plan, and with each codec; and their files in its
/// folder.
class TuneWays {
 public:
  /// `directory`: the folder. Borrows both.
  TuneWays(const std::string& directory, const std::vector<std::string>& codecs)
      : directory_(directory), codecs_(codecs) {}

  /// Gives each codec a name for its files. Errors as file_name_of.
  Status name_folders();

  /// All, in the order in which they are measured.
  std::vector<std::string> all() const;
  /// The name of a way's folder in the folder.
  const std::string& folder_of(const std::string& way) const;
  /// The environment in which the program trains in this way, with traces in `folder`. Paths are whole: a program may
  /// change its working directory. `records`: it also records its steps, if the way is no codec.
  std::vector<std::string> variables_of(const std::string& way, const std::string& folder, bool records) const;

 private:
  std::string whole_path(const std::string& name) const;

  const std::string& directory_;
  const std::vector<std::string>& codecs_;
  std::map<std::string, std::string> folders_;  ///< by codec
};

}  // namespace casync::tools
