// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include <spdlog/sinks/base_sink.h>

#include "base/log.h"

namespace casync::test {

/// Keeps the messages that are logged while it lives. It is made and destroyed while no other thread logs.
class Logged {
 public:
  Logged() { log().sinks().push_back(sink_); }
  ~Logged() { log().sinks().pop_back(); }
  Logged(const Logged&) = delete;
  Logged& operator=(const Logged&) = delete;

  std::string text() const {
    const std::lock_guard lock(sink_->heard);
    return sink_->text;
  }
  /// Waits until a message has this part. Returns false if none has it for so long.
  bool wait_for(const std::string& part, std::chrono::seconds most = std::chrono::seconds(20)) const {
    std::unique_lock lock(sink_->heard);
    return sink_->changed.wait_for(lock, most, [&] { return sink_->text.find(part) != std::string::npos; });
  }

 private:
  struct Sink final : spdlog::sinks::base_sink<std::mutex> {
    void sink_it_(const spdlog::details::log_msg& line) override {
      const std::lock_guard lock(heard);
      text.append(line.payload.data(), line.payload.size()).append("\n");
      changed.notify_all();
    }
    void flush_() override {}
    std::mutex heard;
    std::condition_variable changed;
    std::string text;
  };

  const std::shared_ptr<Sink> sink_ = std::make_shared<Sink>();
};

}  // namespace casync::test
