// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/trace/trace_event.h"

#include <algorithm>

namespace casync::tools {
namespace {

constexpr double kMostMicroseconds = 1e15;  // 30 years; above it a double no longer holds tenths

/// The start of a value, short enough for an error message whatever the file holds.
std::string excerpt(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 60) + "...";
  return text;
}

std::optional<Kind> kind_from(std::string_view category) {
  const auto found = std::find(kKindNames.begin(), kKindNames.end(), category);
  if (found == kKindNames.end()) return std::nullopt;
  return static_cast<Kind>(found - kKindNames.begin());
}

void read_arguments(const nlohmann::json& arguments, const std::string& place, NameList& gradients, TraceEvent& event,
                    Status& status) {
  FieldReader reader(arguments, place + ", args");
  const auto index = [&](const char* name) { return static_cast<std::int32_t>(reader.number(name, -1, 2e9, -1)); };
  event.step = index("step");
  event.partition = index("partition");
  event.hop = index("hop");
  event.peer = index("peer");
  event.processor_us = reader.number("processor_us", 0, kMostMicroseconds, -1);
  event.bytes = static_cast<std::uint64_t>(reader.number("bytes", 0, 1e15, 0));
  const std::string gradient = reader.text("gradient", "");
  if (!gradient.empty()) event.gradient = static_cast<std::int32_t>(gradients.index_of(gradient));
  status = reader.status();
}

}  // namespace

std::uint32_t NameList::index_of(const std::string& name) {
  const auto [found, added] = index_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (added) names_.push_back(name);
  return found->second;
}

const nlohmann::json* FieldReader::find(const char* name, bool required) {
  const auto found = object_.is_object() ? object_.find(name) : object_.end();
  if (found != object_.end()) return &*found;
  if (required) refuse(std::string("`") + name + "` is missing");
  return nullptr;
}

void FieldReader::refuse(const std::string& what) {
  if (status_.is_ok()) status_ = invalid_argument(place_ + ": " + what);
}

double FieldReader::number(const char* name, double least, double most, std::optional<double> missing) {
  const nlohmann::json* value = find(name, !missing);
  if (value == nullptr) return missing.value_or(least);
  if (value->is_number()) {
    const double number = value->get<double>();
    if (number >= least && number <= most) return number;
  }
  char range[80];
  std::snprintf(range, sizeof(range), "expected a number from %g to %g", least, most);
  refuse(std::string("`") + name + "` is " + excerpt(*value) + ", " + range);
  return least;
}

std::string FieldReader::text(const char* name, const std::optional<std::string>& missing) {
  const nlohmann::json* value = find(name, !missing);
  if (value == nullptr) return missing.value_or("");
  if (value->is_string()) return value->get<std::string>();
  refuse(std::string("`") + name + "` is " + excerpt(*value) + ", expected a text");
  return "";
}

Result<std::optional<TraceEvent>> read_event(const nlohmann::json& event, std::size_t position, NameList& gradients) {
  std::string place = "event " + std::to_string(position);
  FieldReader phase(event, place);
  const std::string ph = phase.text("ph"), category = phase.text("cat", "");
  CASYNC_RETURN_IF_ERROR(phase.status());
  const std::optional<Kind> kind = kind_from(category);
  if (ph != "X" || !kind) return std::optional<TraceEvent>();
  place += " (" + phase.text("name", "").substr(0, 80) + ")";
  FieldReader reader(event, place);
  TraceEvent result;
  result.kind = *kind;
  result.start_us = reader.number("ts", -kMostMicroseconds, kMostMicroseconds);
  result.duration_us = reader.number("dur", 0, kMostMicroseconds);
  result.lane = static_cast<std::uint32_t>(reader.number("tid", 0, 4e9, 0));
  CASYNC_RETURN_IF_ERROR(reader.status());
  const auto arguments = event.find("args");
  if (arguments == event.end()) return std::optional(result);
  if (!arguments->is_object()) reader.refuse("`args` is " + excerpt(*arguments) + ", expected an object");
  Status status = reader.status();
  if (status.is_ok()) read_arguments(*arguments, place, gradients, result, status);
  CASYNC_RETURN_IF_ERROR(status);
  return std::optional(result);
}

}  // namespace casync::tools
