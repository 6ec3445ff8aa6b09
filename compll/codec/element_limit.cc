// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/element_limit.h"

#include <string>

namespace casync::compll {
namespace {

// A size whose bytes no 64-bit number overflows.
constexpr Elements kMostOfIdentity = Elements{1} << 40;

}  // namespace

Status check_elements(const CodecInfo& info, Elements elements) {
  const Elements most = info.identity ? kMostOfIdentity : kMostElements;
  if (elements <= most) return Status::ok();
  return invalid_argument("`elements` is " + std::to_string(elements) + ", codec `" + info.name +
                          "` encodes at most 2^" + (info.identity ? "40" : "31") +
                          " at a time: give a larger gradient more partitions");
}

}  // namespace casync::compll
