// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/frame.h"

#include <array>
#include <cstring>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/transport/checksum.h"
#include "runtime/transport/checksum_kernels.h"

namespace casync::test {
namespace {

using namespace casync::runtime;  // NOLINT: every name here is from there

using HeaderBytes = std::array<std::byte, kFrameHeaderBytes>;

FrameHeader example(Bytes payload_bytes) {
  FrameHeader header;
  header.message.key = {.gradient = 0x0123456789abcdef, .step = 7, .partition = 8, .hop = 9};
  header.message.codec = 4;
  header.message.finite = false;
  header.message.elements = 1234567890123;
  header.message.payload_bytes = payload_bytes;
  header.epoch = 0xfedcba9876543210;
  header.source = 5;
  header.piece_stride = payload_bytes;
  header.piece_bytes = payload_bytes;
  return header;
}

HeaderBytes bytes_of_header(const FrameHeader& header) {
  HeaderBytes bytes;
  write_frame_header(header, bytes.data());
  return bytes;
}

FrameFault read(const HeaderBytes& bytes, FrameHeader& header) {
  return read_frame_header({bytes.data(), bytes.size()}, header);
}

// Reads a header that a hostile peer made: fields as it likes, and a checksum that fits them.
FrameFault read_forged(const FrameHeader& header) {
  FrameHeader out;
  return read(bytes_of_header(header), out);
}

}  // namespace

TEST_CASE("frame: a header reads back as it was written") {
  FrameHeader header = example(3_MiB);
  header.piece_stride = 1_MiB;
  header.piece_offset = 2_MiB;
  header.piece_bytes = 1_MiB;
  header.checksummed = true;
  header.piece_checksum = 42;
  FrameHeader back;
  REQUIRE(read(bytes_of_header(header), back) == FrameFault::kNone);
  CHECK(back.message.key == header.message.key);
  CHECK(back.message.codec == 4);
  CHECK_FALSE(back.message.finite);
  CHECK(back.message.elements == header.message.elements);
  CHECK(back.message.payload_bytes == 3_MiB);
  CHECK(back.epoch == header.epoch);
  CHECK(back.source == 5);
  CHECK(back.piece_offset == 2_MiB);
  CHECK(back.piece_bytes == 1_MiB);
  CHECK(back.piece_stride == 1_MiB);
  CHECK(back.checksummed);
  CHECK(back.piece_checksum == 42);
}

TEST_CASE("frame: the layout on the wire does not move") {
  const HeaderBytes bytes = bytes_of_header(example(0x11));
  CHECK(std::memcmp(bytes.data(), "CSF1\x01\x01", 6) == 0);
  CHECK(bytes[6] == std::byte{0});      // flags
  CHECK(bytes[7] == std::byte{4});      // codec
  CHECK(bytes[8] == std::byte{0x10});   // epoch, its lowest byte first
  CHECK(bytes[16] == std::byte{5});     // source
  CHECK(bytes[24] == std::byte{0xef});  // gradient
  CHECK(bytes[48] == std::byte{0x11});  // payload bytes
}

TEST_CASE("frame: each flipped bit of a header is noticed") {
  const HeaderBytes good = bytes_of_header(example(100));
  for (std::size_t bit = 0; bit < kFrameHeaderBytes * 8; ++bit) {
    HeaderBytes bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    FrameHeader out;
    out.source = 77;
    INFO("bit " << bit);
    CHECK(read(bad, out) != FrameFault::kNone);
    CHECK(out.source == 77);
  }
}

TEST_CASE("frame: a header that is cut short is refused") {
  const HeaderBytes good = bytes_of_header(example(100));
  FrameHeader out;
  for (std::size_t size = 0; size < kFrameHeaderBytes; ++size) {
    CHECK(read_frame_header({good.data(), size}, out) == FrameFault::kShort);
  }
}

TEST_CASE("frame: a piece outside its payload is refused, whatever the numbers") {
  FrameHeader header = example(1_MiB);
  header.piece_bytes = 1_MiB + 1;
  CHECK(read_forged(header) == FrameFault::kPiece);

  header = example(1_MiB);
  header.piece_offset = 1;
  CHECK(read_forged(header) == FrameFault::kPiece);

  header = example(1_MiB);
  header.piece_stride = 64_KiB;
  header.piece_bytes = 64_KiB;
  header.piece_offset = ~Bytes{0} - 64_KiB + 1;  // offset + bytes overflows to 0
  CHECK(read_forged(header) == FrameFault::kPiece);

  header.piece_offset = 64_KiB + 1;  // not where a piece begins
  CHECK(read_forged(header) == FrameFault::kPiece);

  header = example(~Bytes{0});
  header.piece_stride = 1;  // as many pieces as bytes: a bomb for whoever counts them
  header.piece_bytes = 1;
  CHECK(read_forged(header) == FrameFault::kPiece);

  header = example(10'000);
  header.piece_stride = 4096;  // whole, and yet of several pieces
  CHECK(read_forged(header) == FrameFault::kPiece);

  header = example(8192);
  header.piece_stride = 4096;
  header.piece_offset = 8192;  // an empty piece after the last
  header.piece_bytes = 0;
  CHECK(read_forged(header) == FrameFault::kPiece);

  header = example(1_MiB);
  header.source = -1;
  CHECK(read_forged(header) == FrameFault::kField);
}

TEST_CASE("frame: random bytes are never a header") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    HeaderBytes bytes;
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
    if (i % 2 == 0) std::memcpy(bytes.data(), "CSF1\x01\x01", 6);
    FrameHeader out;
    CHECK(read(bytes, out) != FrameFault::kNone);
  }
}

TEST_CASE("frame: a fused message is read part by part, and never past its end") {
  std::vector<std::byte> wire;
  const std::vector<Bytes> sizes = {10, 0, 300};
  for (Bytes size : sizes) {
    const HeaderBytes header = bytes_of_header(example(size));
    wire.insert(wire.end(), header.begin(), header.end());
    wire.resize(wire.size() + size, std::byte{9});
  }
  FrameHeader header;
  ConstView payload;
  FusedReader reader({wire.data(), wire.size()});
  for (Bytes size : sizes) {
    REQUIRE(reader.next(header, payload));
    CHECK(payload.size == size);
  }
  CHECK_FALSE(reader.next(header, payload));
  CHECK(reader.fault() == FrameFault::kNone);

  for (std::size_t cut = 1; cut < wire.size(); ++cut) {
    // A buffer of its own, so that a sanitizer sees a read past the end.
    const std::vector<std::byte> part(wire.begin(), wire.begin() + static_cast<std::ptrdiff_t>(cut));
    FusedReader cut_reader({part.data(), part.size()});
    std::size_t parts = 0;
    while (cut_reader.next(header, payload)) ++parts;
    CHECK(parts < sizes.size());
    const bool between_parts = cut == kFrameHeaderBytes + 10 || cut == 2 * kFrameHeaderBytes + 10;
    CHECK((cut_reader.fault() == FrameFault::kNone) == between_parts);
  }
}

TEST_CASE("frame: messages without a payload travel together, up to a number of them") {
  const std::vector<Outgoing> empty(kMostParts + 1);
  CHECK(count_fused(empty, 64_KiB) == kMostParts);
  CHECK(count_fused({empty.data(), kMostParts}, 0) == kMostParts);
  CHECK(count_fused({empty.data(), 2}, 0) == 2);
}

TEST_CASE("checksum: every set of instructions gives the same number") {
  std::vector<std::byte> bytes(70'000);
  std::mt19937 random(3);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  for (std::size_t size : {0u, 1u, 16u, 17u, 129u, 240u, 241u, 1024u, 65'537u, 70'000u}) {
    const std::uint64_t expected = xxh3_baseline(bytes.data(), size);
    CHECK(checksum({bytes.data(), size}) == expected);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) CHECK(xxh3_avx2(bytes.data(), size) == expected);
    if (__builtin_cpu_supports("avx512f")) CHECK(xxh3_avx512(bytes.data(), size) == expected);
#endif
  }
  CHECK(xxh3_baseline("", 0) == 0x2d06800538d394c2ull);  // the published value
}

}  // namespace casync::test
