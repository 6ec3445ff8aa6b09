// SPDX-License-Identifier: Apache-2.0
//
// Codecs of the library once more, with loops written by hand, to measure the generated ones against. Their
// payloads are the same bytes.
#pragma once

#include <memory>
#include <string>

#include "compll/codec/codec.h"

namespace casync::compll {

/// The hand-written codec with what this one says of itself; null where nobody wrote one.
std::unique_ptr<Codec> make_yardstick(const CodecInfo& info);

std::unique_ptr<Codec> make_half_yardstick(const CodecInfo& info);
std::unique_ptr<Codec> make_level_yardstick(const CodecInfo& info);
std::unique_ptr<Codec> make_sign_yardstick(const CodecInfo& info);

}  // namespace casync::compll
