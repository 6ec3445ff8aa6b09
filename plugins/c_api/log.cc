// SPDX-License-Identifier: Apache-2.0
//
// The library's log in C, for a host program whose own log shall have it.
#include "base/log.h"

#include <cmath>

#include "base/log_sink.h"
#include "plugins/c_api/casync.h"
#include "plugins/c_api/error.h"
#include "plugins/c_api/text.h"

using namespace casync;         // NOLINT: this file is the seam
using namespace casync::c_api;  // NOLINT

namespace {

constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::off,  spdlog::level::trace, spdlog::level::debug,
                                                 spdlog::level::info, spdlog::level::warn,  spdlog::level::err};
constexpr int kMostLevel = CASYNC_LOG_ERROR;

casync_log_level level_of(spdlog::level::level_enum level) {
  for (int known = CASYNC_LOG_TRACE; known < kMostLevel; ++known) {
    if (kLevels[known] == level) return static_cast<casync_log_level>(known);
  }
  return CASYNC_LOG_ERROR;
}

Status begin(casync_log_level level) {
  if (level < CASYNC_LOG_TRACE || level > kMostLevel) {
    return invalid_argument("`level` is " + std::to_string(level) + ", expected 1 (trace) to 5 (error)");
  }
  CASYNC_RETURN_IF_ERROR(log_sink().begin_reading());
  suggest_log_level(kLevels[level]);
  return Status::ok();
}

Status next(double wait_s, casync_log_level* level, char* text, size_t capacity, size_t* length) {
  CASYNC_RETURN_IF_ERROR(need(level, "level"));
  *level = CASYNC_LOG_NOTHING;
  // A line that has been taken would be lost.
  CASYNC_RETURN_IF_ERROR(need(length, "length"));
  CASYNC_RETURN_IF_ERROR(need_array(text, capacity, "text"));
  if (std::isnan(wait_s)) return invalid_argument("`wait_s` is not a number: give seconds, or infinity");
  if (!log_sink().wait_for_line(Seconds(wait_s))) return give_text("", text, capacity, length);
  const std::optional<LogLine> line = log_sink().take(capacity == 0 ? 0 : capacity - 1);
  if (!line) return give_text("", text, capacity, length);
  *level = level_of(line->level);
  return give_text(line->text, text, capacity, length);
}

}  // namespace

casync_status casync_log_begin(casync_log_level level) {
  return guarded([&] { return begin(level); });
}

casync_status casync_log_next(double wait_s, casync_log_level* level, char* text, size_t capacity, size_t* length) {
  return guarded([&] { return next(wait_s, level, text, capacity, length); });
}

casync_status casync_log_end(void) {
  return guarded([] {
    log_sink().end_reading();
    return Status::ok();
  });
}
