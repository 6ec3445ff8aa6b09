// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/tune/ways.h"

#include <filesystem>
#include <system_error>

#include "tools/casync/tune/folder.h"
#include "tools/casync/tune/result.h"

namespace casync::tools {

Status TuneWays::name_folders() {
  for (const std::string& codec : codecs_) {
    const Result<std::string> name = file_name_of(codec);
    CASYNC_RETURN_IF_ERROR(name.status());
    folders_[codec] = *name;
  }
  return Status::ok();
}

std::vector<std::string> TuneWays::all() const {
  std::vector<std::string> ways = {kUncompressed, kPlanned};
  ways.insert(ways.end(), codecs_.begin(), codecs_.end());
  return ways;
}

const std::string& TuneWays::folder_of(const std::string& way) const {
  const auto found = folders_.find(way);
  return found == folders_.end() ? way : found->second;
}

std::string TuneWays::whole_path(const std::string& name) const {
  const std::string path = directory_ + "/" + name;
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  return error ? path : whole.string();
}

std::vector<std::string> TuneWays::variables_of(const std::string& way, const std::string& folder, bool records) const {
  std::vector<std::string> variables = {"CASYNC_TRACE=" + whole_path(folder)};
  if (way == kPlanned) {
    variables.push_back("CASYNC_PLAN=" + whole_path("planned.txtpb"));
    if (records) variables.push_back("CASYNC_RECORD=" + whole_path(kPlanned));
  } else if (way == kUncompressed) {
    variables.emplace_back("CASYNC_CODEC=none");
    if (records) variables.push_back("CASYNC_RECORD=" + whole_path("record"));
  } else {
    variables.push_back("CASYNC_CODEC=" + way);
  }
  return variables;
}

}  // namespace casync::tools
