// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/plan_file.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "base/codec_file.h"
#include "casync/planner/plan_library.h"
#include "casync/planner/plan_module.h"

namespace casync {
namespace {

/// From the root, without any dots; as it is if the program's own folder is gone.
std::filesystem::path from_root(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::absolute(path, failed);
  return failed ? std::filesystem::path(path) : whole.lexically_normal();
}

/// The name of a codec's file in a plan in `folder`, which is from the root, or "" for any folder.
std::string file_in_plan(const std::string& file, const std::filesystem::path& folder) {
  const std::filesystem::path whole = from_root(file);
  const std::filesystem::path seen = folder.empty() ? std::filesystem::path() : whole.lexically_relative(folder);
  if (seen.empty() || *seen.begin() == "..") return whole.string();
  return seen.has_parent_path() ? seen.string() : "./" + seen.string();
}

void name_files_in_plan(const std::filesystem::path& folder, Choice& choice) {
  const auto name_files = [&](CodecChoice& codec) {
    if (!is_codec_file(codec.name)) return;
    std::vector<std::string> files = codec_files(codec.name);
    for (std::string& file : files) file = file_in_plan(file, folder);
    codec.name = codec_file_name(files);
  };
  for (std::optional<CodecChoice>* codec : {&choice.codec, &choice.second_hop}) {
    if (*codec) name_files(**codec);
  }
  for (CodecChoice& codec : choice.allowed) name_files(codec);
}

}  // namespace

Result<Plan> read_plan_file(const std::string& path) {
  return read_through_library<Plan>(kPlanReader, "plan file", path);
}

Result<std::string> text_of_plan(const Plan& plan, const std::string& path) {
  const std::filesystem::path folder = path.empty() ? std::filesystem::path() : from_root(path).parent_path();
  Plan written = plan;
  name_files_in_plan(folder, written.defaults);
  for (Rule& rule : written.rules) name_files_in_plan(folder, rule.choice);
  for (Entry& entry : written.gradients) name_files_in_plan(folder, entry.choice);
  for (GradientGroup& group : written.groups) name_files_in_plan(folder, group.choice);
  return write_through_library(kPlanWriter, "plan file", written);
}

}  // namespace casync
