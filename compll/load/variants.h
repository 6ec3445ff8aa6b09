// SPDX-License-Identifier: Apache-2.0
//
// Codecs of the library with other values of the parameters that types are made of: `minmax` with two bits. The library
// has one of them compiled; of the others it has the source.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace casync::compll {

/// The source of the codec `name` of the library if it has to be compiled for these parameters; else empty, also
/// if there is no such codec.
std::string_view source_of_variant(const std::string& name, std::span<const std::pair<std::string, double>> parameters);

}  // namespace casync::compll
