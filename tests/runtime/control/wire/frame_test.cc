// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/wire/frame.h"

#include <catch2/catch.hpp>
#include <random>

#include "runtime/control/group/messages.h"

using namespace casync;
using namespace casync::runtime;
using Catch::Matchers::Contains;

namespace {

std::string sealed(FrameSealer& sealer, FrameType type, const std::string& bytes) {
  const Payload payload(bytes);
  return sealer.header(type, payload) + payload.bytes;
}

}  // namespace

TEST_CASE("frame: a sealed payload comes out again, in whatever pieces it arrives") {
  const std::size_t piece = GENERATE(1u, 63u, 64u, 65u, 100000u);
  FrameSealer sealer("key");
  std::string stream;
  for (const std::size_t bytes : {0u, 1u, 4000u}) stream += sealed(sealer, FrameType::kGather, std::string(bytes, 'a'));
  stream += sealed(sealer, FrameType::kBeat, "");
  FrameParser parser("key");
  std::vector<Frame> frames;
  for (std::size_t i = 0; i < stream.size(); i += piece) {
    REQUIRE(parser.push(std::string_view(stream).substr(i, piece), &frames).is_ok());
  }
  REQUIRE(frames.size() == 4);
  CHECK(frames[0].payload->bytes.empty());
  CHECK(frames[2].payload->bytes == std::string(4000, 'a'));
  CHECK(frames[3].type == FrameType::kBeat);
}

TEST_CASE("frame: a flipped bit anywhere is DataLoss") {
  FrameSealer sealer("key");
  const std::string good = sealed(sealer, FrameType::kGather, "some bytes");
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    FrameParser parser("key");
    std::vector<Frame> frames;
    REQUIRE(parser.push(bad, &frames).code() == StatusCode::kDataLoss);
    REQUIRE(frames.empty());
  }
}

TEST_CASE("frame: another key, a replay, a gap and a length nobody may claim are DataLoss") {
  FrameSealer sealer("key");
  const std::string first = sealed(sealer, FrameType::kBeat, "");
  const std::string second = sealed(sealer, FrameType::kBeat, "");
  std::vector<Frame> frames;
  CHECK(FrameParser("other").push(first, &frames).code() == StatusCode::kDataLoss);
  FrameParser parser("key");
  CHECK(parser.push(first, &frames).is_ok());
  CHECK_THAT(parser.push(first, &frames).message(), Contains("frame 0 came where 1 was due"));
  CHECK_THAT(FrameParser("key").push(second, &frames).message(), Contains("frame 1 came where 0 was due"));
  FrameSealer liar("key");
  CHECK_THAT(FrameParser("key").push(sealed(liar, FrameType::kBeat, std::string(5, 'x')), &frames).message(),
             Contains("has at most 0"));
  FrameSealer unknown("key");
  CHECK_THAT(FrameParser("key").push(sealed(unknown, static_cast<FrameType>(99), ""), &frames).message(),
             Contains("type 99 is unknown"));
}

TEST_CASE("frame: 10,000 random frames are refused without reading past them") {
  std::mt19937 random(20260101);
  for (int i = 0; i < 10000; ++i) {
    std::string bytes(random() % 300, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    FrameParser parser("key");
    std::vector<Frame> frames;
    const Status status = parser.push(bytes, &frames);
    REQUIRE(frames.empty());
    REQUIRE(status.is_ok() == (bytes.size() < kControlHeaderBytes));
  }
}

TEST_CASE("messages: 10,000 random payloads are decoded or refused, and a changed length is refused") {
  std::mt19937 random(20260102);
  const Clock::time_point now = Clock::now();
  const GatherCall call{"weights", std::make_shared<const std::string>("blob"), now + std::chrono::seconds(3)};
  const std::vector<std::string> seeds = {encode_abort({2, peer_failure("rank 2 died")}), encode_gather(call, now),
                                          encode_gathered(1, "blob"), encode_goodbye({{1, 0}, "words"}),
                                          encode_roster({own_identity(0, 2), own_identity(1, 2)})};
  int refused = 0;
  for (int i = 0; i < 10000; ++i) {
    std::string bytes = seeds[static_cast<std::size_t>(i) % seeds.size()];
    for (int change = 0; change < 3; ++change) bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(random() % (bytes.size() + 2));
    const bool ok[] = {decode_abort(bytes).is_ok(), decode_gather(bytes, now).is_ok(),
                       decode_gathered(bytes, 2).is_ok(), decode_goodbye(bytes, 2).is_ok(),
                       decode_roster(bytes, 2).is_ok()};
    for (const bool each : ok) refused += each ? 0 : 1;
  }
  CHECK(refused > 30000);
  const auto again = decode_gather(seeds[1], now);
  REQUIRE(again.is_ok());
  CHECK(again.value().what == "weights");
  CHECK(*again.value().blob == "blob");
  CHECK(again.value().deadline == call.deadline);
  CHECK(!decode_roster(seeds[4], 3).is_ok());
  CHECK(!decode_goodbye(encode_goodbye({{}, "words"}), 2).is_ok());
  CHECK(!decode_goodbye(encode_goodbye({{0, 1, 0}, "words"}), 2).is_ok());
  CHECK(decode_goodbye(seeds[3], 2)->ranks == std::vector<Rank>{1, 0});
  CHECK(!decode_goodbye(encode_goodbye({{2}, ""}), 2).is_ok());
}
