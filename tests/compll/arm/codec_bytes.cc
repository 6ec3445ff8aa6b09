// SPDX-License-Identifier: Apache-2.0
//
// Prints digests of what each written codec makes of a few vectors, so that two machines can be compared:
//
//   int8 300 payload 1f2e... residual 77ab... decoded 09cd... merged 5e01...
//
// Vectors are computed with whole numbers and powers of two, so they are the same bits everywhere.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "compll/codec/generated_codec.h"
#include "compll/codec/written.h"

namespace casync::compll {
namespace {

/// Values of all magnitudes that gradients have, zeros among them.
std::vector<float> vector_of(Elements n, std::uint64_t state) {
  std::vector<float> values(n);
  for (float& value : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto digits = static_cast<std::int32_t>(state >> 40) - (1 << 23);
    const int exponent = static_cast<int>(state >> 33 & 15) - 34;
    value = (state >> 37 & 7) == 0 ? 0.0f : std::ldexp(static_cast<float>(digits), exponent);
  }
  return values;
}

std::uint64_t digest_of(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }
std::uint64_t digest_of(const std::vector<float>& floats) { return digest_of(std::as_bytes(std::span(floats))); }

/// Returns false if the codec does not encode the vector.
bool print(const Codec& codec, Elements n) {
  const Elements states = std::max<Elements>(codec.info().states, 1);
  const std::vector<float> in = vector_of(n, 1), before = vector_of(states * n, 2);
  std::vector<float> after(states * n), decoded(n);
  std::vector<std::byte> payload(codec.encoded_bound(n)), merged(codec.encoded_bound(n));
  const Encoded encoded = codec.encode(in.data(), n, {before.data(), after.data(), n}, {3, 4, 5, 0}, payload.data());
  payload.resize(encoded.size);
  if (!encoded.finite) return false;
  const ConstView view{payload.data(), payload.size()};
  codec.decode(view, n, decoded.data());
  const std::uint64_t residual = digest_of(after);
  const Contribution terms[] = {{view, nullptr}, {{}, in.data()}};
  merged.resize(codec.merge(terms, n, 0.5f, codec, {before.data(), after.data(), n}, {3, 4, 6, 0}, merged.data()).size);
  std::printf("%s %zu payload %016lx residual %016lx decoded %016lx merged %016lx %016lx\n", codec.info().name.c_str(),
              static_cast<std::size_t>(n), digest_of(payload), residual, digest_of(decoded), digest_of(merged),
              digest_of(after));
  return true;
}

}  // namespace
}  // namespace casync::compll

int main() {
  using namespace casync::compll;
  for (const GeneratedCodec* written : written_codecs()) {
    const auto codec = make_generated_codec(*written, {});
    if (!codec) {
      std::fprintf(stderr, "%s: %s\n", written->declares.name, codec.status().text().c_str());
      return 1;
    }
    for (const casync::Elements n : {1, 17, 300, 5003}) {
      if (!print(**codec, n)) {
        std::fprintf(stderr, "%s: a finite vector is not encoded\n", written->declares.name);
        return 1;
      }
    }
  }
}
