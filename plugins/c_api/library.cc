// SPDX-License-Identifier: Apache-2.0
//
// The library's facts about itself.
#include <string>

#include "compll/codec/codec.h"
#include "compll/codec/rounds_codec.h"
#include "plugins/c_api/casync.h"

uint32_t casync_abi_version(void) { return CASYNC_ABI_VERSION; }

const char* casync_version(void) { return CASYNC_VERSION_TEXT; }

const char* casync_codec_names(void) {
  try {
    static const std::string names = [] {
      std::string joined;
      for (const auto& kind : {casync::compll::codec_names(), casync::compll::rounds_codec_names()}) {
        for (const std::string& name : kind) joined += (joined.empty() ? "" : " ") + name;
      }
      return joined;
    }();
    return names.c_str();
  } catch (...) {
    return "";
  }
}
