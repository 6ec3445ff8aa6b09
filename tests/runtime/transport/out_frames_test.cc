// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/out_frames.h"

#include <array>
#include <cstring>
#include <vector>

#include <catch2/catch.hpp>

namespace casync::test {
namespace {

using namespace casync::runtime;  // NOLINT: every name here is from there

struct OutFramesFixture {
  std::vector<std::byte> memory = std::vector<std::byte>(100, std::byte{7});

  static TransportOptions options() {
    TransportOptions options;
    options.rank = 2;
    options.ranks = 4;
    options.epoch = 9;
    options.piece_bytes = 10_KiB;
    options.fusion_bytes = 64;
    return options;
  }
  Outgoing message(Bytes bytes, std::uint64_t gradient = 1) {
    Outgoing out;
    out.message.key.gradient = gradient;
    out.message.payload_bytes = bytes;
    out.payload = {memory.data(), bytes};
    return out;
  }
  OutFrames frames{options()};
};

}  // namespace

TEST_CASE_METHOD(OutFramesFixture, "out frames: a header names the job, the rank and the size of pieces") {
  Message large;
  large.payload_bytes = 1_MiB;
  const FrameHeader header = frames.header_for(large);
  CHECK(header.epoch == 9);
  CHECK(header.source == 2);
  CHECK(header.piece_stride == 10_KiB);
  CHECK(frames.header_for({}).piece_stride == 0);
}

TEST_CASE("out frames: pieces are not shorter than receivers allow") {
  TransportOptions options = OutFramesFixture::options();
  options.piece_bytes = 1;
  CHECK(OutFrames(options).piece_bytes() == kMinPieceBytes);
}

TEST_CASE_METHOD(OutFramesFixture, "out frames: as many messages travel as one as fit, and at least one") {
  const std::vector<Outgoing> all = {message(40), message(24), message(1)};
  CHECK(frames.count_fused(all) == 2);
  const std::vector<Outgoing> large = {message(65), message(1)};
  CHECK(frames.count_fused(large) == 1);
}

TEST_CASE_METHOD(OutFramesFixture, "out frames: messages that travel as one are read one by one") {
  const std::vector<Outgoing> all = {message(40, 5), message(0, 6), message(24, 7)};
  std::vector<std::byte> bytes;
  frames.write_fused(all, bytes);
  FusedReader reader({bytes.data(), bytes.size()});
  for (const Outgoing& out : all) {
    FrameHeader header;
    ConstView payload;
    REQUIRE(reader.next(header, payload));
    CHECK(header.message.key == out.message.key);
    CHECK(header.piece_stride == out.payload.size);
    REQUIRE(payload.size == out.payload.size);
    CHECK((payload.size == 0 || std::memcmp(payload.data, out.payload.data, payload.size) == 0));
  }
  FrameHeader header;
  ConstView payload;
  CHECK_FALSE(reader.next(header, payload));
  CHECK(reader.fault() == FrameFault::kNone);
}

TEST_CASE_METHOD(OutFramesFixture, "out frames: an announcement says how many bytes there are") {
  std::array<std::byte, kFrameHeaderBytes> bytes;
  frames.write_announcement(1_MiB, bytes.data());
  FrameHeader header;
  REQUIRE(read_frame_header({bytes.data(), bytes.size()}, header) == FrameFault::kNone);
  CHECK(header.kind == FrameKind::kFused);
  CHECK(header.message.payload_bytes == 1_MiB);
  CHECK(header.piece_bytes == 1_MiB);
}

}  // namespace casync::test
