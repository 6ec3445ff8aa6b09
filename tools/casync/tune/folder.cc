// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/tune/folder.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/codec_file.h"
#include "casync/model/codec_choice.h"
#include "casync/planner/plan_library.h"
#include "tools/casync/planning/inputs.h"

namespace casync::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kStemBytes = 40;

/// There is something of this name, be it a link to nothing.
bool is_there(const std::string& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

/// The name does not lead out of the folder.
bool is_name_within(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

std::optional<TuneRecord> record_from(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("identity") || !json.contains("made")) return std::nullopt;
  const nlohmann::json &identity = json["identity"], &made = json["made"];
  if (!identity.is_string() || !made.is_array()) return std::nullopt;
  TuneRecord record{identity.get<std::string>(), {}};
  for (const nlohmann::json& name : made) {
    if (!name.is_string() || !is_name_within(name.get<std::string>())) return std::nullopt;
    record.made.insert(name.get<std::string>());
  }
  return record;
}

}  // namespace

Result<TuneRecord> read_tune_record(const std::string& folder) {
  const std::string path = folder + "/" + kTuneRecord;
  if (!is_there(path)) return TuneRecord{};
  const std::optional<TuneRecord> record = record_from(text_of_file(path));
  if (!record) {
    return invalid_argument(path + " is no record of `casync tune`: name another folder with -o, or move the file");
  }
  return *record;
}

std::string text_of(const TuneRecord& record) {
  const nlohmann::ordered_json json{{"identity", record.identity}, {"made", record.made}};
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Status check_own(const std::string& folder, const TuneRecord& record, const std::set<std::string>& names) {
  for (const std::string& name : names) {
    const std::string path = folder + "/" + name;
    if (record.made.contains(name) || !is_there(path)) continue;
    return invalid_argument(path + " exists and is not of `casync tune`: name another folder with -o, or move it");
  }
  return Status::ok();
}

Status remove_names(const std::string& folder, const std::set<std::string>& names) {
  for (const std::string& name : names) {
    const std::string path = folder + "/" + name;
    std::error_code error;
    fs::remove_all(path, error);
    if (error) return unavailable(path + " cannot be removed: " + error.message());
  }
  return Status::ok();
}

Result<std::string> file_name_of(const std::string& codec) {
  const Result<CodecChoice> choice = parse_codec_choice(codec);
  CASYNC_RETURN_IF_ERROR(choice.status());
  if (!is_codec_file(choice->name)) return codec;
  const std::vector<std::string> files = codec_files(choice->name);
  std::string all = codec;
  for (const std::string& file : files) {
    const Result<std::string> text = text_of_input("codec", file);
    CASYNC_RETURN_IF_ERROR(text.status());
    all += "\n" + *text;
  }
  std::string stem = fs::path(files.front()).stem().string().substr(0, kStemBytes);
  const auto is_special = [](unsigned char c) { return std::isalnum(c) == 0 && c != '-'; };
  std::replace_if(stem.begin(), stem.end(), is_special, '_');
  return stem + "-" + digest_of_file(all);
}

std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace casync::tools
