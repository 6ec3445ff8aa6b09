// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "base/status.h"

namespace casync::tools {

inline constexpr const char* kTuneRecord = "tune.json";

/// The record that `casync tune` keeps in its folder, as kTuneRecord.
struct TuneRecord {
  std::string identity;        ///< of the call that made the results; "": they are of no one call
  std::set<std::string> made;  ///< names in the folder that the tool uses; all others are somebody else's
};

/// Reads a folder's record: an empty one if there is none. InvalidArgument: a file of that name that is something else.
Result<TuneRecord> read_tune_record(const std::string& folder);

/// The other way.
std::string text_of(const TuneRecord& record);

/// InvalidArgument: the folder has one of `names`, and the record does not. The message gives a remedy.
Status check_own(const std::string& folder, const TuneRecord& record, const std::set<std::string>& names);

/// Removes these files and folders from the folder. Unavailable: names one that stays.
Status remove_names(const std::string& folder, const std::set<std::string>& names);

/// A name for a codec's files: its own; of a program's path a name that is no path, and another one once the program
/// has changed. InvalidArgument: as parse_codec_choice; a program that cannot be read.
Result<std::string> file_name_of(const std::string& codec);

/// Returns a file's bytes, none if it cannot be read.
std::string text_of_file(const std::string& path);

}  // namespace casync::tools
