// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace casync {
namespace {

std::unique_ptr<spdlog::logger> make_logger() {
  auto logger = std::make_unique<spdlog::logger>("casync", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_pattern("[%H:%M:%S.%e] [casync %P] [%l] %v");
  logger->set_level(spdlog::level::warn);
  const char* wanted = std::getenv("CASYNC_LOG_LEVEL");
  if (wanted == nullptr || *wanted == '\0') return logger;
  // spdlog reads an unknown word as "off", which would hide the reason as well.
  const auto level = spdlog::level::from_str(wanted);
  if (level == spdlog::level::off && std::string(wanted) != "off") {
    logger->warn("CASYNC_LOG_LEVEL={}: not a level; use trace, debug, info, warn, error or off", wanted);
  } else {
    logger->set_level(level);
  }
  return logger;
}

}  // namespace

spdlog::logger& log() {
  static spdlog::logger* const logger = make_logger().release();  // outlives every static that may still log
  return *logger;
}

}  // namespace casync
