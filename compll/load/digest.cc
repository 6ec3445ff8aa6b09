// SPDX-License-Identifier: Apache-2.0
#include "compll/load/digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdint>
#include <cstdio>

namespace casync::compll {

struct DigestWriter::State {
  XXH3_state_t hash;
};

DigestWriter::DigestWriter() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->hash); }
DigestWriter::~DigestWriter() = default;

DigestWriter& DigestWriter::add(std::string_view text) {
  const std::uint64_t size = text.size();
  XXH3_128bits_update(&state_->hash, &size, sizeof size);
  XXH3_128bits_update(&state_->hash, text.data(), text.size());
  return *this;
}

std::string DigestWriter::text() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->hash);
  char digits[33];
  std::snprintf(digits, sizeof digits, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return digits;
}

}  // namespace casync::compll
