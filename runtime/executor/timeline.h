// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/units.h"
#include "casync/primitives/primitive.h"

namespace casync::runtime {

class GradientRun;

/// kWait: the program waited for a gradient. kBackward: from a step's first gradient to its last, as they were
/// submitted.
enum class SpanKind : std::uint8_t { kEncode, kDecode, kMerge, kSend, kRecv, kStep, kWait, kBackward };
const char* name_of(SpanKind kind);

/// One interval on one lane.
struct Span {
  SpanKind kind = SpanKind::kEncode;
  const GradientRun* run = nullptr;  ///< null for a step and its backward pass
  MessageId id;                      ///< the partition; the hop too where there is one
  std::uint32_t step = 0;
  Rank peer = -1;  ///< of a send or recv
  Bytes bytes = 0;
  std::uint32_t lane = 0;  ///< of a task: 0 the progress thread, 1... the streams
  Clock::time_point from, to;
  double processor_s = 0;  ///< of a step: processor time of the session's threads without codecs
};

/// The spans of a run, kept in memory that is allocated once (the first kTimelineSpans spans; the rest are counted)
/// and written at the end. Recording is one atomic add and a store; without a timeline it is one branch.
class Timeline {
 public:
  explicit Timeline(std::size_t capacity);

  void record(const Span& span);  ///< any thread
  /// Unix time of the timeline's zero, in microseconds: aligns the files of several ranks.
  std::int64_t epoch_us() const { return epoch_us_; }
  std::size_t size() const;
  std::size_t dropped() const;

  /// `header`: the JSON object of the key "casync", with its braces. Chrome trace format; pid is the rank.
  /// Unavailable: the file and the system's reason.
  Status write(const std::string& path, Rank rank, const std::string& header) const;

 private:
  std::vector<Span> spans_;
  std::atomic<std::size_t> next_{0};
  Clock::time_point origin_;
  std::int64_t epoch_us_;
};

inline constexpr std::size_t kTimelineSpans = 1u << 20;

}  // namespace casync::runtime
