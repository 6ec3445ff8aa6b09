// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace casync::tools {

/// The kind of a span of the timeline: a whole step, its backward pass from the first gradient to the last, one task of
/// one of the five primitives, or a wait of the program for a gradient.
enum class Kind : std::uint8_t { kStep, kBackward, kEncode, kMerge, kDecode, kSend, kRecv, kWait };
inline constexpr std::array kKindNames = {"step", "backward", "encode", "merge", "decode", "send", "recv", "wait"};
/// Returns true for the five primitives.
constexpr bool is_task(Kind kind) { return kind != Kind::kStep && kind != Kind::kBackward && kind != Kind::kWait; }
constexpr const char* name_of(Kind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

/// Texts that repeat in a million events, each kept once.
class NameList {
 public:
  std::uint32_t index_of(const std::string& name);
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::uint32_t, std::less<>> index_;
};

/// One event of one rank, as its file has it but for names.
struct TraceEvent {
  double start_us = 0, duration_us = 0;  ///< start since the rank's own epoch
  std::uint64_t bytes = 0;
  std::int32_t step = -1, gradient = -1, partition = -1, hop = -1, peer = -1;  ///< -1: the event does not say
  double processor_us = -1;  ///< of a step: the rank's threads beyond codecs; -1: an older trace does not say
  std::uint32_t lane = 0;
  Kind kind = Kind::kStep;
};

/// A JSON object from outside, read field by field. The first field that is not as expected is remembered, with
/// what was seen; what is read after it does not matter.
class FieldReader {
 public:
  /// `place` names the object in the error, as "event 17". Both are borrowed.
  FieldReader(const nlohmann::json& object, std::string place) : object_(object), place_(std::move(place)) {}

  double number(const char* name, double least, double most, std::optional<double> missing = {});
  std::string text(const char* name, const std::optional<std::string>& missing = {});
  /// InvalidArgument: the first field that was wrong.
  const Status& status() const { return status_; }
  void refuse(const std::string& what);

 private:
  const nlohmann::json* find(const char* name, bool required);

  const nlohmann::json& object_;
  std::string place_;
  Status status_;
};

/// The span that `event` (number `position` of the file's) shows; nothing for metadata and for kinds that this
/// version does not know. InvalidArgument: names the event and the field.
Result<std::optional<TraceEvent>> read_event(const nlohmann::json& event, std::size_t position, NameList& gradients);

}  // namespace casync::tools
