// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/trace/trace_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

namespace casync::tools {
namespace {

using nlohmann::json;

constexpr off_t kLargestFile = off_t{2} << 30;
constexpr double kLargestCount = 1e15;

Result<std::string> read_whole(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return invalid_argument(path + ": " + std::strerror(errno));
  if (!S_ISREG(about.st_mode)) return invalid_argument(path + ": not a regular file");
  if (about.st_size > kLargestFile) return invalid_argument(path + ": larger than 2 GiB; trace fewer steps");
  std::string text(static_cast<std::size_t>(about.st_size), '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file.read(text.data(), static_cast<std::streamsize>(text.size()))) {
    return invalid_argument(path + ": " + std::strerror(errno));
  }
  return text;
}

/// Takes the events out of the document while it is parsed, so that a file of any length needs the memory of its
/// spans only. What remains of the document is the section "casync".
class EventFilter {
 public:
  explicit EventFilter(RankTrace& trace) : trace_(trace) {}

  /// The parser's callback: false drops what it was called for.
  bool operator()(int depth, json::parse_event_t event, json& parsed) {
    if (depth == 0 && event == json::parse_event_t::object_start) is_object_ = true;
    if (depth == 1 && event == json::parse_event_t::key) {
      events_here_ = parsed == "traceEvents";
      has_events_ = has_events_ || events_here_;
      return events_here_ || parsed == "casync";
    }
    if (!events_here_ || depth != 2) return true;
    if (event == json::parse_event_t::object_start) return true;
    if (event == json::parse_event_t::object_end) {
      take(parsed);
    } else if (event != json::parse_event_t::key) {
      refuse(invalid_argument("event " + std::to_string(position_) + ": expected an object"));
    }
    return false;
  }

  Status status() const {
    if (!is_object_) return invalid_argument("expected an object with `traceEvents` and `casync`");
    if (!has_events_) return invalid_argument("`traceEvents` is missing: not a trace of casync");
    return status_;
  }

 private:
  void take(const json& event) {
    if (!status_.is_ok()) return;
    Result<std::optional<TraceEvent>> read = read_event(event, position_++, trace_.names);
    if (!read) {
      refuse(read.status());
    } else if (*read) {
      trace_.events.push_back(**read);
    } else if (event.value("ph", "") == "X") {
      ++trace_.ignored;
    } else {
      take_lane_name(event);
    }
  }

  void take_lane_name(const json& event) {
    const auto arguments = event.find("args");
    if (event.find("name") == event.end() || event["name"] != "thread_name" || arguments == event.end()) return;
    FieldReader lane(event, "event " + std::to_string(position_ - 1));
    FieldReader name(*arguments, "event " + std::to_string(position_ - 1) + ", args");
    trace_.lane_names[static_cast<std::uint32_t>(lane.number("tid", 0, 4e9))] = name.text("name");
    if (!lane.status().is_ok()) refuse(lane.status());
    if (!name.status().is_ok()) refuse(name.status());
  }

  void refuse(const Status& status) {
    if (status_.is_ok()) status_ = status;
  }

  RankTrace& trace_;
  Status status_;
  std::size_t position_ = 0;
  bool is_object_ = false, has_events_ = false, events_here_ = false;
};

Result<TracedGradient> read_gradient(const json& object, std::size_t position) {
  const std::string place = "casync.gradients[" + std::to_string(position) + "]";
  FieldReader reader(object, place);
  TracedGradient gradient;
  gradient.name = reader.text("name");
  gradient.dtype = reader.text("dtype", "float32");
  gradient.codec = reader.text("codec", "none");
  gradient.second_hop = reader.text("second_hop", gradient.codec);
  gradient.strategy = reader.text("strategy", "?");
  gradient.elements = reader.number("elements", 0, kLargestCount);
  gradient.servers = reader.number("servers", 0, 65536, 0);
  gradient.dedicated = reader.number("dedicated", 0, 1, 0);
  gradient.scattered = reader.number("scattered", 0, 1, 0) > 0;
  gradient.partitions = reader.number("partitions", 0, 1e9, 1);
  gradient.priority = reader.number("priority", -2e9, 2e9, 0);
  gradient.payload_bytes = reader.number("payload_bytes", 0, kLargestCount, 0);
  gradient.steps = reader.number("steps", 0, kLargestCount, 0);
  gradient.mean_ms = reader.number("mean_ms", 0, 1e12, 0);
  gradient.exposed_ms = reader.number("exposed_ms", 0, 1e12, 0);
  CASYNC_RETURN_IF_ERROR(reader.status());
  const json members = object.value("members", json::array());
  const auto is_name = [](const json& member) { return member.is_string(); };
  if (!members.is_array() || !std::all_of(members.begin(), members.end(), is_name)) {
    return invalid_argument(place + ": `members` is not an array of names");
  }
  for (const json& member : members) gradient.members.push_back(member.get<std::string>());
  return gradient;
}

Status read_stats(const json& object, TracedStats& stats) {
  FieldReader reader(object, "casync.stats");
  stats.steps = reader.number("steps", 0, kLargestCount, 0);
  stats.payload_bytes_sent = reader.number("payload_bytes_sent", 0, 1e18, 0);
  stats.wire_bytes_sent = reader.number("wire_bytes_sent", 0, 1e18, 0);
  stats.messages_sent = reader.number("messages_sent", 0, kLargestCount, 0);
  stats.allocations = reader.number("allocations", 0, kLargestCount, 0);
  stats.idle_s = reader.number("idle_s", 0, 1e12, 0);
  return reader.status();
}

Status read_header(const json& header, RankTrace& trace) {
  if (!header.is_object())
    return invalid_argument("the section `casync` is missing: the file is cut short or not ours");
  FieldReader reader(header, "casync");
  trace.ranks = static_cast<int>(reader.number("ranks", 1, 65536));
  trace.rank = static_cast<Rank>(reader.number("rank", 0, trace.ranks - 1));
  trace.job = reader.text("job", "");
  trace.host = reader.text("host", "");
  trace.transport = reader.text("transport", "");
  trace.link = reader.text("link", "");
  trace.node = static_cast<int>(reader.number("node", -1, 65535, -1));
  trace.fusion_bytes = reader.number("fusion_bytes", 0, 1e12, 0);
  trace.credit_bytes = reader.number("credit_bytes", 0, 1e12, 0);
  trace.mode = reader.text("mode", "");
  trace.plan_mode = reader.text("plan_mode", "");
  trace.staleness = reader.number("staleness", 0, 1e6, 0);
  trace.epoch_us = reader.number("epoch_us", 0, 1e16);
  trace.dropped = reader.number("dropped", 0, kLargestCount, 0);
  CASYNC_RETURN_IF_ERROR(reader.status());
  const auto is_of_names = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  if (!std::all_of(trace.mode.begin(), trace.mode.end(), is_of_names)) {
    return invalid_argument("casync: `mode` is \"" + trace.mode + "\", which is no name of one");
  }
  const auto is_of_modes = [&](char c) {
    return is_of_names(c) || (c >= '0' && c <= '9') || std::string_view(" {}:.+-").find(c) != std::string_view::npos;
  };
  if (!std::all_of(trace.plan_mode.begin(), trace.plan_mode.end(), is_of_modes)) {
    return invalid_argument("casync: `plan_mode` is \"" + trace.plan_mode + "\", which is no mode of a plan");
  }
  if (header.contains("stats")) CASYNC_RETURN_IF_ERROR(read_stats(header["stats"], trace.stats));
  const json gradients = header.value("gradients", json::array());
  if (!gradients.is_array()) return invalid_argument("casync: `gradients` is not an array");
  for (const json& object : gradients) {
    Result<TracedGradient> gradient = read_gradient(object, trace.gradients.size());
    CASYNC_RETURN_IF_ERROR(gradient.status());
    trace.gradients.push_back(std::move(*gradient));
  }
  return Status::ok();
}

/// The library reports errors as exceptions, the only ones with line and column; they end here.
Status parse(const std::string& text, RankTrace& trace) {
  EventFilter filter(trace);
  try {
    const json rest = json::parse(text, std::ref(filter));
    CASYNC_RETURN_IF_ERROR(filter.status());
    return read_header(rest.is_object() ? rest.value("casync", json()) : json(), trace);
  } catch (const json::exception& error) {
    const std::string what = error.what();
    const std::size_t sentence = what.find("] ");  // behind the library's own error number
    const bool is_short = what.find("unexpected end of input") != std::string::npos;
    return invalid_argument((is_short ? "the file is cut short: " : "") +
                            (sentence == std::string::npos ? what : what.substr(sentence + 2)));
  }
}

/// Messages quote the file, and a file can hold bytes that a terminal would obey.
std::string printable(std::string text) {
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}

}  // namespace

Result<RankTrace> read_trace_file(const std::string& path) {
  Result<std::string> text = read_whole(path);
  CASYNC_RETURN_IF_ERROR(text.status());
  RankTrace trace;
  trace.path = path;
  const Status status = parse(*text, trace);
  if (!status.is_ok()) return invalid_argument(path + ": " + printable(status.message()));
  return trace;
}

}  // namespace casync::tools
