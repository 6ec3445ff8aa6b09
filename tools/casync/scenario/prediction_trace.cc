// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/scenario/prediction.h"
#include "tools/casync/trace/chrome_trace.h"

namespace casync::tools {
namespace {

// A viewer draws one span of a lane at a time; a port sends one message at a time and receives one at a time.
enum Lane : std::uint32_t { kTraining, kCodec, kSending, kReceiving };

struct Drawn {
  Kind kind;
  Lane lane;
};

Drawn drawn(SimulatedKind kind) {
  switch (kind) {
    case SimulatedKind::kBackward:
    case SimulatedKind::kForward: return {Kind::kStep, kTraining};
    case SimulatedKind::kEncode: return {Kind::kEncode, kCodec};
    case SimulatedKind::kMerge: return {Kind::kMerge, kCodec};
    case SimulatedKind::kDecode: return {Kind::kDecode, kCodec};
    case SimulatedKind::kSend: return {Kind::kSend, kSending};
    case SimulatedKind::kRecv: return {Kind::kRecv, kReceiving};
  }
  return {Kind::kStep, kTraining};
}

}  // namespace

Status write_prediction_trace(const Scenario& scenario, const Simulation& simulation, const std::string& path) {
  TraceFolder folder;
  folder.ranks = scenario.topology.ranks;
  folder.traces.resize(static_cast<std::size_t>(folder.ranks));
  for (Rank rank = 0; rank < folder.ranks; ++rank) {
    RankTrace& trace = folder.traces[static_cast<std::size_t>(rank)];
    trace.rank = rank;
    trace.ranks = folder.ranks;
    trace.host = "simulated";
    trace.lane_names = {{kTraining, "training"}, {kCodec, "codec"}, {kSending, "sending"}, {kReceiving, "receiving"}};
    for (const TrainedGradient& gradient : scenario.training.gradients) {
      static_cast<void>(trace.names.index_of(gradient.spec.name));
    }
  }
  for (const SimulatedSpan& span : simulation.spans) {
    const auto [kind, lane] = drawn(span.kind);
    RankTrace& trace = folder.traces[static_cast<std::size_t>(span.rank)];
    TraceEvent event;
    event.start_us = span.from_s * 1e6;
    event.duration_us = (span.to_s - span.from_s) * 1e6;
    event.step = span.step;
    event.kind = kind;
    event.lane = lane;
    if (kind != Kind::kStep) {
      event.bytes = span.bytes;
      event.gradient =
          static_cast<std::int32_t>(trace.names.index_of(scenario.training.gradients[span.gradient].spec.name));
      event.partition = static_cast<std::int32_t>(span.partition);
    }
    if (span.peer >= 0) {
      event.peer = span.peer;
      event.hop = static_cast<std::int32_t>(span.hop);
    }
    trace.events.push_back(event);
  }
  return write_chrome_trace(folder, std::nullopt, path);
}

}  // namespace casync::tools
