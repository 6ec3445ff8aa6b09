// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/crypto.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <cerrno>

#include "base/check.h"

namespace casync::runtime {
namespace {

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

}  // namespace

std::string sha256(std::string_view bytes) {
  std::string digest(kDigestBytes, '\0');
  unsigned size = 0;
  const int ok = EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()), &size,
                            EVP_sha256(), nullptr);
  CASYNC_CHECK(ok == 1 && size == kDigestBytes);
  return digest;
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  std::string digest(kDigestBytes, '\0');
  unsigned size = 0;
  // OpenSSL takes a null key for "the key of the call before".
  const void* key_data = key.empty() ? "" : key.data();
  const auto* made = HMAC(EVP_sha256(), key_data, static_cast<int>(key.size()), bytes_of(bytes), bytes.size(),
                          reinterpret_cast<unsigned char*>(digest.data()), &size);
  CASYNC_CHECK(made != nullptr && size == kDigestBytes);
  return digest;
}

std::string scrypt(std::string_view secret, std::string_view salt) {
  constexpr std::uint64_t kCost = 1 << 14, kBlock = 8, kParallel = 1, kMostMemory = 64 << 20;
  std::string key(kDigestBytes, '\0');
  const int ok = EVP_PBE_scrypt(secret.data(), secret.size(), bytes_of(salt), salt.size(), kCost, kBlock, kParallel,
                                kMostMemory, reinterpret_cast<unsigned char*>(key.data()), key.size());
  CASYNC_CHECK(ok == 1);
  return key;
}

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
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
