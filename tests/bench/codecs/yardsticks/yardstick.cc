// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/codecs/yardsticks/yardstick.h"

namespace casync::compll {

std::unique_ptr<Codec> make_yardstick(const CodecInfo& info) {
  if (info.name == "bf16" || info.name == "fp16") return make_half_yardstick(info);
  if (info.name == "int8" || info.name == "int4") return make_level_yardstick(info);
  return info.name == "onebit" ? make_sign_yardstick(info) : nullptr;
}

}  // namespace casync::compll
