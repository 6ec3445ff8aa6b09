// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/timeline.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/executor/gradient_run.h"

namespace casync::runtime {
namespace {

// Lanes of the file: threads first, then one for what leaves to and one for what comes from each peer, because
// those overlap and a viewer draws one span at a time per lane.
constexpr std::uint32_t kBackwardLane = 998, kProgramLane = 999, kSendLanes = 1000, kRecvLanes = 100000;

std::uint32_t lane_of(const Span& span) {
  if (span.kind == SpanKind::kSend) return kSendLanes + static_cast<std::uint32_t>(span.peer);
  if (span.kind == SpanKind::kWait) return kProgramLane;
  if (span.kind == SpanKind::kBackward) return kBackwardLane;
  if (span.kind == SpanKind::kRecv) return kRecvLanes + static_cast<std::uint32_t>(span.peer);
  return span.lane;
}

std::string lane_name(std::uint32_t lane) {
  if (lane >= kRecvLanes) return "from rank " + std::to_string(lane - kRecvLanes);
  if (lane >= kSendLanes) return "to rank " + std::to_string(lane - kSendLanes);
  if (lane == kProgramLane) return "program";
  if (lane == kBackwardLane) return "backward";
  return lane == 0 ? "progress" : "stream " + std::to_string(lane);
}

nlohmann::json to_json(const Span& span, Rank rank, Clock::time_point origin) {
  const auto us = [](Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); };
  nlohmann::json one = {{"ph", "X"},
                        {"cat", name_of(span.kind)},
                        {"pid", rank},
                        {"tid", lane_of(span)},
                        {"ts", us(span.from - origin)},
                        {"dur", us(span.to - span.from)}};
  nlohmann::json args = {{"step", span.step}};
  if (span.kind == SpanKind::kStep) args["processor_us"] = 1e6 * span.processor_s;
  std::string name = name_of(span.kind);
  if (span.run != nullptr) {
    name += " " + span.run->spec.name;
    args["gradient"] = span.run->spec.name;
  }
  if (span.run != nullptr && span.kind != SpanKind::kWait) {
    name += "[" + std::to_string(span.id.partition) + "]";
    args["partition"] = span.id.partition;
    args["bytes"] = span.bytes;
  }
  if (span.peer >= 0) {
    args["peer"] = span.peer;
    args["hop"] = span.id.hop;
  }
  one["name"] = std::move(name);
  one["args"] = std::move(args);
  return one;
}

}  // namespace

const char* name_of(SpanKind kind) {
  switch (kind) {
    case SpanKind::kEncode: return "encode";
    case SpanKind::kDecode: return "decode";
    case SpanKind::kMerge: return "merge";
    case SpanKind::kSend: return "send";
    case SpanKind::kRecv: return "recv";
    case SpanKind::kStep: return "step";
    case SpanKind::kWait: return "wait";
    case SpanKind::kBackward: return "backward";
  }
  return "?";
}

Timeline::Timeline(std::size_t capacity)
    : spans_(capacity),
      origin_(Clock::now()),
      epoch_us_(
          std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
              .count()) {}

void Timeline::record(const Span& span) {
  const std::size_t at = next_.fetch_add(1, std::memory_order_relaxed);
  if (at < spans_.size()) spans_[at] = span;
}

std::size_t Timeline::size() const { return std::min(next_.load(), spans_.size()); }

std::size_t Timeline::dropped() const { return next_.load() - size(); }

Status Timeline::write(const std::string& path, Rank rank, const std::string& header) const {
  const std::string part = path + ".part";  // a full disk leaves no trace that ends in the middle
  std::ofstream file(part);
  std::set<std::uint32_t> lanes;
  file << "{\"traceEvents\":[\n";
  file << nlohmann::json{
      {"ph", "M"}, {"name", "process_name"}, {"pid", rank}, {"args", {{"name", "rank " + std::to_string(rank)}}}};
  for (std::size_t i = 0; i < size(); ++i) {
    lanes.insert(lane_of(spans_[i]));
    file << ",\n" << to_json(spans_[i], rank, origin_);
  }
  for (const std::uint32_t lane : lanes) {
    file << ",\n"
         << nlohmann::json{{"ph", "M"},
                           {"name", "thread_name"},
                           {"pid", rank},
                           {"tid", lane},
                           {"args", {{"name", lane_name(lane)}}}};
  }
  file << "\n],\n\"casync\":" << header << "}\n";
  file.close();
  if (file && std::rename(part.c_str(), path.c_str()) == 0) return Status::ok();
  const std::string why = std::strerror(errno);
  std::remove(part.c_str());
  return unavailable("the timeline cannot be written to " + path + ": " + why);
}

}  // namespace casync::runtime
