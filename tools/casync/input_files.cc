// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/input_files.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/codec_file.h"
#include "casync/model/codec_choice.h"
#include "casync/planner/model_file.h"
#include "casync/planner/plan_file.h"
#include "casync/planner/plan_library.h"
#include "casync/planner/profile_file.h"
#include "tools/casync/codec_facts.h"

namespace casync::tools {
namespace {

/// A kind of file, and fields that only such a file has at the beginning of a line.
struct Kind {
  const char* name;
  const char* option;
  std::array<std::string_view, 4> fields;
};
constexpr Kind kProfile{"profile", "--profile", {"memory_bytes_per_second", "between", "inside", "contended"}};
constexpr Kind kModel{"model description", "--model", {"backward_seconds", "forward_seconds", "", ""}};
constexpr Kind kPlan{"plan", "--plan", {"default", "rule", "world", "fusion_bytes"}};

bool begins_with_field(std::string_view line, std::string_view field) {
  if (field.empty() || !line.starts_with(field) || line.size() == field.size()) return false;
  const char next = line[field.size()];
  return next == ':' || next == ' ' || next == '{';
}

bool is_of(const Kind& kind, std::string_view text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    for (const std::string_view field : kind.fields) {
      if (begins_with_field(text.substr(begin, end - begin), field)) return true;
    }
    begin = end + 1;
  }
  return false;
}

/// The reader's own error, unless the file looks like one of another kind.
Status explained(const Status& error, const Kind& expected, const std::string& path) {
  const Result<std::string> text = text_of_input("file", path);
  if (!text || is_of(expected, *text)) return error;
  for (const Kind* kind : {&kProfile, &kModel, &kPlan}) {
    if (kind == &expected || !is_of(*kind, *text)) continue;
    return plan_error(path + " looks like a " + kind->name + ", expected a " + expected.name + " (" + expected.option +
                      "); was it meant for " + kind->option + "?");
  }
  return error;
}

template <class Value>
Result<Value> read(Result<Value> (*reader)(const std::string&), const Kind& kind, const std::string& path) {
  Result<Value> value = reader(path);
  if (value) return value;
  return explained(value.status(), kind, path);
}

/// Refuses costs of codecs that there are not: nothing would ever use them. A user's own file is not compiled for that.
Status check_codecs(const Profile& profile, const std::string& path) {
  for (const auto& [name, curves] : profile.codecs) {
    const Result<CodecChoice> choice = parse_codec_choice(name);
    if (choice && is_codec_file(choice->name)) continue;
    const Status status = choice ? facts_of(*choice).status() : choice.status();
    if (!status) return plan_error(path + ": codec \"" + name + "\": " + status.message());
  }
  return Status::ok();
}

}  // namespace

Result<Profile> read_profile_input(const std::string& path) {
  Result<Profile> profile = read(read_profile_file, kProfile, path);
  if (profile) CASYNC_RETURN_IF_ERROR(check_codecs(*profile, path));
  return profile;
}

Result<Training> read_model_input(const std::string& path) { return read(read_model_file, kModel, path); }

Result<Plan> read_plan_input(const std::string& path) { return read(read_plan_file, kPlan, path); }

}  // namespace casync::tools
