// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compll/codec/codec.h"
#include "compll/codec/rounds_codec.h"

namespace casync::compll {

/// make_codec (codec.h) of a codec that is part of the library.
Result<std::unique_ptr<Codec>> make_built_in_codec(const std::string& name,
                                                   std::span<const std::pair<std::string, double>> parameters = {});

/// make_rounds_codec (rounds_codec.h) of a codec that is part of the library.
Result<std::unique_ptr<RoundsCodec>> make_built_in_rounds_codec(
    const std::string& name, std::span<const std::pair<std::string, double>> parameters = {});

/// The built-in codecs that encode what changed since the last version of a tensor that one rank has.
/// make_built_in_codec makes them; codec_names() leaves them out, because gradients of several ranks have no such
/// version.
std::vector<std::string> patch_names();
/// InvalidArgument: `name` is one of them. The message says what to do instead of merging or synchronizing.
Status check_no_patch(const std::string& name);

/// InvalidArgument: `name` is a built-in codec that carries exchanges of rounds, or rounds what sessions keep, and
/// encodes no gradients. make_built_in_codec makes these, too; codec_names() leaves them out.
Status check_no_exchange(const std::string& name);

/// The built-in codec whose payloads carry this number, "" when there is none.
std::string built_in_with_number(std::uint8_t number);

}  // namespace casync::compll
