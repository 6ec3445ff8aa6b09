// SPDX-License-Identifier: Apache-2.0
// Published test vectors: FIPS 180-2, RFC 4231 (cases 1 and 6), RFC 7914.
#include "runtime/control/wire/crypto.h"

#include <catch2/catch.hpp>
#include <string>

namespace casync::runtime {
namespace {

TEST_CASE("a digest is SHA-256") {
  CHECK(to_hex(sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(to_hex(sha256("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_CASE("a keyed digest is HMAC with SHA-256, whatever the length of its key") {
  CHECK(to_hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")) ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(to_hex(hmac_sha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")) ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  CHECK(to_hex(hmac_sha256("", "")) == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST_CASE("a key from a secret is scrypt's") {
  CHECK(to_hex(scrypt("pleaseletmein", "SodiumChloride")) ==
        "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2");
}

TEST_CASE("two secrets are the same or not") {
  CHECK(same_secret("", ""));
  CHECK(same_secret("abcdef", "abcdef"));
  CHECK_FALSE(same_secret("abcdef", "abcdeg"));
  CHECK_FALSE(same_secret("abc", "abcdef"));
}

}  // namespace
}  // namespace casync::runtime
