// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/bench/sizes.h"

#include <charconv>

namespace casync::tools {

Result<Bytes> parse_bytes(const std::string& text) {
  Bytes value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  const std::string unit(rest, end);
  const int shift = unit.empty() || unit == "B" ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
  if (error != std::errc() || shift < 0 || value == 0 || value > (Bytes{1} << (40 - shift))) {
    return invalid_argument("`" + text + "` is not a size; write 4096, 64K, 1M or 2G");
  }
  return value << shift;
}

Result<std::vector<Bytes>> parse_sizes(const std::string& first, const std::string& last, int factor) {
  const Result<Bytes> low = parse_bytes(first), high = parse_bytes(last);
  CASYNC_RETURN_IF_ERROR(low.status());
  CASYNC_RETURN_IF_ERROR(high.status());
  if (*high < *low) return invalid_argument("sizes go from " + first + " to " + last + ": the last is below the first");
  if (factor < 2)
    return invalid_argument("sizes grow by the factor " + std::to_string(factor) + "; it must be 2 or more");
  std::vector<Bytes> sizes;
  const Bytes times = static_cast<Bytes>(factor);
  for (Bytes size = *low; size <= *high; size *= times) {
    sizes.push_back(size);
    if (size > *high / times) break;  // the next one is larger, and may be no number
  }
  return sizes;
}

}  // namespace casync::tools
