// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "base/log_sink.h"

namespace casync {
namespace {

struct Log {
  std::shared_ptr<LogSink> sink = std::make_shared<LogSink>(std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  spdlog::logger logger{"casync", sink};
  bool is_level_said = false;  ///< by the environment

  Log() {
    logger.set_pattern("[%H:%M:%S.%e] [casync %P] [%l] %v");
    logger.set_level(spdlog::level::warn);
    const char* wanted = std::getenv("CASYNC_LOG_LEVEL");
    if (wanted == nullptr || *wanted == '\0') return;
    // spdlog reads an unknown word as "off", which would hide the reason as well.
    const auto level = spdlog::level::from_str(wanted);
    if (level == spdlog::level::off && std::string(wanted) != "off") {
      logger.warn("CASYNC_LOG_LEVEL={}: not a level; use trace, debug, info, warn, error or off", wanted);
    } else {
      logger.set_level(level);
      is_level_said = true;
    }
  }
};

Log& the_log() {
  static Log* const log = new Log;  // outlives every static that may still log
  return *log;
}

}  // namespace

spdlog::logger& log() { return the_log().logger; }

LogSink& log_sink() { return *the_log().sink; }

void suggest_log_level(spdlog::level::level_enum level) {
  if (!the_log().is_level_said) log().set_level(level);
}

}  // namespace casync
