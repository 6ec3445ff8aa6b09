// SPDX-License-Identifier: Apache-2.0
#include "base/log_sink.h"

#include <unistd.h>

#include <utility>

namespace casync {

bool LogSink::is_read() const { return reader_ != 0 && reader_ == ::getpid(); }

Status LogSink::begin_reading() {
  const std::lock_guard lock(mutex_);
  if (is_read()) return invalid_argument("the log of this process has a reader already");
  if (reader_ != 0) {  // a parent's, who has the lines; its thread waits in the copied condition for ever
    waiting_.clear();
    static_cast<void>(changed_.release());
    changed_ = std::make_unique<std::condition_variable>();
  }
  reader_ = ::getpid();
  return Status::ok();
}

bool LogSink::wait_for_line(Seconds most) {
  std::unique_lock lock(mutex_);
  changed_->wait_until(lock, after(most), [&] { return !waiting_.empty() || !is_read(); });
  return is_read() && !waiting_.empty();
}

std::optional<LogLine> LogSink::take(std::size_t most_bytes) {
  const std::lock_guard lock(mutex_);
  if (!is_read() || waiting_.empty()) return std::nullopt;
  if (waiting_.front().text.size() > most_bytes) return waiting_.front();
  LogLine line = std::move(waiting_.front());
  waiting_.pop_front();
  return line;
}

void LogSink::end_reading() {
  const std::lock_guard lock(mutex_);
  if (!is_read()) return;
  reader_ = 0;
  for (const LogLine& line : waiting_) stderr_->log({"casync", line.level, line.text});
  waiting_.clear();
  changed_->notify_all();
}

void LogSink::sink_it_(const spdlog::details::log_msg& line) {
  if (!is_read() || waiting_.size() == kMostWaiting) return stderr_->log(line);
  waiting_.push_back({line.level, std::string(line.payload.begin(), line.payload.end())});
  changed_->notify_one();
}

void LogSink::flush_() { stderr_->flush(); }

void LogSink::set_pattern_(const std::string& pattern) { stderr_->set_pattern(pattern); }

void LogSink::set_formatter_(std::unique_ptr<spdlog::formatter> formatter) {
  stderr_->set_formatter(std::move(formatter));
}

}  // namespace casync
