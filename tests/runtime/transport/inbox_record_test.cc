// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/inbox_record.h"

#include <memory_resource>
#include <optional>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/runtime/transport/piece_header.h"

namespace casync::test {
namespace {

using namespace casync::runtime;  // NOLINT: every name here is from there

struct InboxRecordFixture {
  const FrameHeader first = piece_header(10'000, 4096, 0), last = piece_header(10'000, 4096, 8192);
  InboxRecord record{first, std::pmr::new_delete_resource()};
  std::vector<std::byte> memory = std::vector<std::byte>(10'000);
};

}  // namespace

TEST_CASE_METHOD(InboxRecordFixture, "inbox record: each piece has its part of the place, once") {
  CHECK_FALSE(record.is_placed());
  record.place({memory.data(), memory.size()});
  CHECK(record.is_placed());
  const std::optional<View> into = record.take(last);
  REQUIRE(into);
  CHECK(into->data == memory.data() + 8192);
  CHECK(into->size == 10'000 - 8192);
  CHECK_FALSE(record.take(last));
  record.end_piece(last);
  CHECK_FALSE(record.take(last));
  CHECK(record.take(first));
}

TEST_CASE_METHOD(InboxRecordFixture,
                 "inbox record: it is complete when all pieces have ended, and idle when those taken have") {
  record.place({memory.data(), memory.size()});
  CHECK(record.is_idle());
  for (const Bytes offset : {Bytes{4096}, Bytes{0}, Bytes{8192}}) {
    CHECK_FALSE(record.is_complete());
    const FrameHeader piece = piece_header(10'000, 4096, offset);
    REQUIRE(record.take(piece));
    CHECK_FALSE(record.is_idle());
    CHECK(record.end_piece(piece).data == memory.data() + offset);
    CHECK(record.is_idle());
  }
  CHECK(record.is_complete());
}

TEST_CASE_METHOD(InboxRecordFixture, "inbox record: it lacks pieces until each is held, under way or has ended") {
  const FrameHeader middle = piece_header(10'000, 4096, 4096);
  record.hold(first, nullptr);
  record.hold(last, nullptr);
  CHECK(record.lacks_pieces());
  record.place({memory.data(), memory.size()});
  record.take_held();
  for (const FrameHeader& piece : {first, last, middle}) {
    CHECK(record.lacks_pieces());
    REQUIRE(record.take(piece));
  }
  CHECK_FALSE(record.lacks_pieces());
  for (const FrameHeader& piece : {middle, first, last}) {
    record.end_piece(piece);
    CHECK_FALSE(record.lacks_pieces());
  }
}

TEST_CASE_METHOD(InboxRecordFixture, "inbox record: abandoned pieces are under way no more, and still missing") {
  record.place({memory.data(), memory.size()});
  REQUIRE(record.take(first));
  record.abandon();
  CHECK(record.is_idle());
  CHECK_FALSE(record.is_complete());
}

TEST_CASE_METHOD(InboxRecordFixture,
                 "inbox record: another size, stride, codec or count of elements is another message") {
  CHECK(record.is_described_by(last));
  CHECK_FALSE(record.is_described_by(piece_header(10'001, 4096, 0)));
  CHECK_FALSE(record.is_described_by(piece_header(10'000, 5000, 0)));
  FrameHeader other = last;
  other.message.elements += 1;
  CHECK_FALSE(record.is_described_by(other));
  other = last;
  other.piece_offset = 4 * 4096;
  CHECK_FALSE(record.is_described_by(other));
}

TEST_CASE_METHOD(InboxRecordFixture, "inbox record: the pieces that it holds leave it together") {
  int a = 0, b = 0;
  record.hold(first, &a);
  CHECK(record.holds(first));
  CHECK_FALSE(record.holds(last));
  record.hold(last, &b);
  const auto held = record.take_held();
  REQUIRE(held.size() == 2);
  CHECK(held[0].piece == &a);
  CHECK(held[1].header.piece_offset == 8192);
  CHECK_FALSE(record.holds(first));
  CHECK(record.held().empty());
}

TEST_CASE_METHOD(InboxRecordFixture, "inbox record: the first failure of its pieces is the message's") {
  CHECK(record.status().is_ok());
  record.fail(data_loss("first"));
  record.fail(data_loss("second"));
  CHECK(record.status().message() == "first");
}

}  // namespace casync::test
