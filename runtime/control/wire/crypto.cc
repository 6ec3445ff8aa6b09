// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/wire/crypto.h"

#include <sodium.h>
#include <sys/random.h>

#include <cerrno>

#include "base/check.h"

namespace casync::runtime {
namespace {

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

/// Lets libsodium choose its implementations for this processor, once; without that it takes the slowest.
void prepare() {
  static const bool ready = sodium_init() >= 0;
  CASYNC_CHECK(ready);
}

}  // namespace

std::string sha256(std::string_view bytes) {
  prepare();
  std::string digest(kDigestBytes, '\0');
  crypto_hash_sha256(bytes_of(digest), bytes_of(bytes), bytes.size());
  return digest;
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  prepare();
  std::string digest(kDigestBytes, '\0');
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, bytes_of(key), key.size());
  crypto_auth_hmacsha256_update(&state, bytes_of(bytes), bytes.size());
  crypto_auth_hmacsha256_final(&state, bytes_of(digest));
  return digest;
}

std::string scrypt(std::string_view secret, std::string_view salt) {
  prepare();
  constexpr std::uint64_t kCost = 1 << 14;
  constexpr std::uint32_t kBlock = 8, kParallel = 1;
  std::string key(kDigestBytes, '\0');
  const int failed = crypto_pwhash_scryptsalsa208sha256_ll(bytes_of(secret), secret.size(), bytes_of(salt), salt.size(),
                                                           kCost, kBlock, kParallel, bytes_of(key), key.size());
  CASYNC_CHECK(failed == 0);  // it fails without memory
  return key;
}

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string random_bytes(Bytes count) {
  std::string bytes(count, '\0');
  for (Bytes done = 0; done < count;) {
    const ssize_t got = getrandom(bytes.data() + done, count - done, 0);
    CASYNC_CHECK(got > 0 || errno == EINTR);
    if (got > 0) done += static_cast<Bytes>(got);
  }
  return bytes;
}

std::string to_hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

}  // namespace casync::runtime
