// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <initializer_list>

#include "compll/ops/coding.h"
#include "compll/ops/generated.h"

namespace casync::compll {

/// The version of a GeneratedCodedCodec, so that what knows only GeneratedCodec refuses it.
inline constexpr std::uint32_t kCodedVersion = kGeneratedVersion | 0x10000;

/// A program some of whose sections are coded. Its functions read and write all sections as if they were plain.
struct GeneratedCodedCodec : GeneratedCodec {
  GeneratedCodedCodec(const GeneratedCodec& plain, std::initializer_list<Coding> of_sections) : GeneratedCodec(plain) {
    version = kCodedVersion;
    std::copy(of_sections.begin(), of_sections.end(), codings);
  }
  Coding codings[kMostSections] = {};
};

/// Returns true for code that was compiled with these headers.
inline bool fits_headers(const GeneratedCodec& codec) {
  return codec.version == kGeneratedVersion || codec.version == kCodedVersion;
}

}  // namespace casync::compll
