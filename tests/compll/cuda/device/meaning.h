// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "compll/codec/rounds_codec.h"
#include "compll/codegen/explain.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll::test {

/// The interpreted codec of `name`, from the sources below `root`: compll/codecs, or a program of the tests. Ends the
/// program where there is none.
std::unique_ptr<Codec> meaning_of(const std::string& root, const std::string& name, const Parameters& parameters);
std::unique_ptr<RoundsCodec> meaning_of_rounds(const std::string& root, const std::string& name,
                                               const Parameters& parameters);

/// The bytes that the codec cannot do without.
LeastBytes least_bytes_of(const std::string& root, const std::string& name);

}  // namespace casync::compll::test
