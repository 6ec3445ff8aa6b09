// SPDX-License-Identifier: Apache-2.0
//
// The written codecs of a library that has only those of CASYNC_FEW_CODECS: X(int8) X(int4) ... A stand-in for
// compll/codec/written.cc.in.
#include "compll/codec/written.h"

namespace casync::compll {

#define X(name) extern "C" const GeneratedCodec* generated_##name();
CASYNC_FEW_CODECS
#undef X

std::span<const GeneratedCodec* const> written_codecs() {
#define X(name) generated_##name(),
  static const GeneratedCodec* const all[] = {CASYNC_FEW_CODECS};
#undef X
  return all;
}

std::span<const GeneratedCodec* const> written_rounds() { return {}; }
std::span<const GeneratedCodec* const> written_patches() { return {}; }
std::span<const GeneratedCodec* const> written_for_exchanges() { return {}; }
std::span<const GeneratedCodec* const> written_for_states() { return {}; }
std::string_view written_source(std::string_view) { return {}; }

}  // namespace casync::compll
