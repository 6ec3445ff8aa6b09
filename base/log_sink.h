// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <spdlog/sinks/base_sink.h>
#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/status.h"

namespace casync {

/// A line of the log without time, name and level.
struct LogLine {
  spdlog::level::level_enum level;
  std::string text;
};

/// The end of the log: stderr, or one reader in the same process, so that the host program's own log has the lines.
/// Lines that no reader could take in time are written to stderr, as are those of a child after a fork. Thread-safe.
class LogSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  /// The most lines that wait for a reader; later ones go to stderr.
  static constexpr std::size_t kMostWaiting = 1000;

  explicit LogSink(spdlog::sink_ptr to_stderr) : stderr_(std::move(to_stderr)) {}

  /// Keeps lines for a reader from now on. InvalidArgument: this process has one.
  Status begin_reading();
  /// Waits for a line that take() gives next. False: none came in time, or nobody reads any more.
  bool wait_for_line(Seconds most);
  /// The oldest line, which stays if it is longer than `most_bytes`; none where no line waits.
  std::optional<LogLine> take(std::size_t most_bytes);
  /// Writes all that waits to stderr, and what comes later.
  void end_reading();

 protected:
  void sink_it_(const spdlog::details::log_msg& line) override;
  void flush_() override;
  void set_pattern_(const std::string& pattern) override;
  void set_formatter_(std::unique_ptr<spdlog::formatter> formatter) override;

 private:
  bool is_read() const;

  const spdlog::sink_ptr stderr_;
  // By the mutex of the base class:
  std::unique_ptr<std::condition_variable> changed_ = std::make_unique<std::condition_variable>();
  std::deque<LogLine> waiting_;
  pid_t reader_ = 0;  ///< the reader's process; 0: nobody reads
};

}  // namespace casync
