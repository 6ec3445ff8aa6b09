// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/units.h"

namespace casync::runtime {

inline constexpr Bytes kDigestBytes = 32;

/// Byte strings in, 32 bytes out; libsodium's.
std::string sha256(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view bytes);

/// RFC 7914 with N = 16384, r = 8, p = 1: 32 bytes that cost 16 MiB and some 50 ms of processor time to compute.
std::string scrypt(std::string_view secret, std::string_view salt);

/// Compares in a time that tells nothing about where two secrets differ.
bool same_secret(std::string_view a, std::string_view b);

/// Random bytes from the kernel's generator. A kernel without one ends the process: nothing below is safe then.
std::string random_bytes(Bytes count);

/// Two lower-case digits for each byte.
std::string to_hex(std::string_view bytes);

}  // namespace casync::runtime
