// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <spdlog/logger.h>

namespace casync {

/// The project's own logger, to stderr: named "casync", not in spdlog's registry and never the host
/// program's. Level from CASYNC_LOG_LEVEL (trace, debug, info, warn, error, off; default warn); an unknown
/// level is reported once and read as warn. Thread-safe.
spdlog::logger& log();

class LogSink;
/// The end of log(), for a reader in the same process.
LogSink& log_sink();

/// Sets the level of log() where CASYNC_LOG_LEVEL says none.
void suggest_log_level(spdlog::level::level_enum level);

}  // namespace casync
