// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"
#include "runtime/control/launch/launch_sources.h"

namespace casync::runtime {

/// The job's token: CASYNC_TOKEN, or the content of the file CASYNC_TOKEN_FILE (which must be this user's, mode
/// 0600) without its last line end. "" when neither is set. InvalidArgument: both and different, too short, a file
/// others may read. Unavailable: the file cannot be read. A token is never logged and never part of an error.
Result<std::string> read_token(const Environment& env);

/// The token, which came from `source` ("CASYNC_TOKEN"). InvalidArgument: too short to keep anybody out.
Result<std::string> check_token(std::string token, const char* source);

/// The token as ranks use it. Tokens of less than 32 characters go through scrypt (16 MiB, some 50 ms), so that
/// somebody who has recorded a handshake cannot try them fast. "" stays "".
std::string stretched(std::string token);

}  // namespace casync::runtime
