// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/trace/chrome_trace.h"

#include <ostream>

#include "tools/casync/output_file.h"

namespace casync::tools {
namespace {

using Json = nlohmann::ordered_json;

Json metadata(const char* what, Rank rank, std::uint32_t lane, const std::string& name) {
  return {{"ph", "M"}, {"name", what}, {"pid", rank}, {"tid", lane}, {"args", {{"name", name}}}};
}

Json span(const TraceFolder& folder, const RankTrace& trace, const TraceEvent& event) {
  std::string name = name_of(event.kind);
  Json arguments = Json::object();
  if (event.step >= 0) arguments["step"] = event.step;
  if (event.gradient >= 0) {
    const std::string& gradient = trace.names.names()[event.gradient];
    name += " " + gradient;
    arguments["gradient"] = gradient;
  }
  if (event.partition >= 0) {  // a wait is for all of them
    name += "[" + std::to_string(event.partition) + "]";
    arguments["partition"] = event.partition;
    arguments["bytes"] = event.bytes;
  }
  if (event.processor_us >= 0) arguments["processor_us"] = event.processor_us;
  if (event.hop >= 0) arguments["hop"] = event.hop;
  if (event.peer >= 0) arguments["peer"] = event.peer;
  return {{"ph", "X"},
          {"name", name},
          {"cat", name_of(event.kind)},
          {"pid", trace.rank},
          {"tid", event.lane},
          {"ts", folder.start_us(trace, event)},
          {"dur", event.duration_us},
          {"args", std::move(arguments)}};
}

void write_trace(const TraceFolder& folder, const std::optional<StepRange>& range, std::ostream& file) {
  file << "{\"traceEvents\":[";
  const char* separator = "\n";
  const auto put = [&](const Json& event) {
    file << separator << event;
    separator = ",\n";
  };
  for (const RankTrace& trace : folder.traces) {
    put(metadata("process_name", trace.rank, 0, "rank " + std::to_string(trace.rank) + " " + trace.host));
    for (const auto& [lane, name] : trace.lane_names) put(metadata("thread_name", trace.rank, lane, name));
    for (const TraceEvent& event : trace.events) {
      if (shows(range, event)) put(span(folder, trace, event));
    }
  }
  file << "\n]}\n";
}

}  // namespace

Status write_chrome_trace(const TraceFolder& folder, const std::optional<StepRange>& range, const std::string& path) {
  return write_output(path, [&](std::ostream& file) { write_trace(folder, range, file); });
}

}  // namespace casync::tools
