// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/measurement/messages.h"

namespace casync::tools {
namespace {

bool is_message(const TraceFolder& folder, const TraceEvent& event) {
  const bool kind = event.kind == Kind::kSend || event.kind == Kind::kRecv;
  return kind && event.gradient >= 0 && event.peer >= 0 && event.peer < folder.ranks;
}

}  // namespace

std::vector<MessageSpan> messages_of(const TraceFolder& folder, const std::optional<StepRange>& range) {
  std::vector<MessageSpan> messages;
  NameList names;  // each trace has its own
  for (const RankTrace& trace : folder.traces) {
    for (const TraceEvent& event : trace.events) {
      if (!is_message(folder, event) || !shows(range, event)) continue;
      const double from = folder.start_us(trace, event);
      messages.push_back({event.kind == Kind::kSend, trace.rank, event.peer, event.step,
                          names.index_of(trace.names.names()[static_cast<std::size_t>(event.gradient)]),
                          static_cast<std::uint32_t>(event.partition), static_cast<std::uint32_t>(event.hop),
                          from * 1e-6, (from + event.duration_us) * 1e-6, static_cast<double>(event.bytes)});
    }
  }
  return messages;
}

std::vector<std::string> hosts_of(const TraceFolder& folder) {
  std::vector<std::string> hosts(static_cast<std::size_t>(folder.ranks));
  for (const RankTrace& trace : folder.traces) hosts[static_cast<std::size_t>(trace.rank)] = trace.host;
  return hosts;
}

std::vector<std::string> nodes_of(const TraceFolder& folder) {
  std::vector<std::string> nodes(static_cast<std::size_t>(folder.ranks));
  for (const RankTrace& trace : folder.traces) {
    nodes[static_cast<std::size_t>(trace.rank)] =
        trace.node < 0 ? "host " + trace.host : "node " + std::to_string(trace.node);
  }
  return nodes;
}

}  // namespace casync::tools
