// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/status.h"
#include "casync/model/codec_choice.h"
#include "plugins/c_api/casync.h"
#include "runtime/session/session.h"

namespace casync::c_api {

/// A codec as C names it: "int4" or "int4:block=64", and parameters in addition.
/// InvalidArgument: as parse_codec_choice; a parameter without a name, twice or not finite.
Result<CodecChoice> codec_choice(std::string_view text, const casync_parameter* parameters, std::size_t count);

/// The options of a session: each from the arguments, else from the environment, else the default. Variables without
/// an option (CASYNC_THREADS, CASYNC_CHECKSUM, ...) are read where they are used.
/// InvalidArgument: a struct of another size, a plan and a codec, half a store, values out of their range.
Result<runtime::SessionOptions> session_options(const casync_session_options* options);

}  // namespace casync::c_api
