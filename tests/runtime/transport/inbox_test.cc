// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/inbox.h"

#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/transport/held_memory.h"
#include "tests/runtime/transport/piece_header.h"

namespace casync::test {
namespace {

using namespace casync::runtime;  // NOLINT: every name here is from there

constexpr std::uint64_t kEpoch = 9;

// Rank 0 of three, with pieces that are numbers and a client that answers what the test says.
struct InboxFixture : PieceSource, TransportClient {
  Inbox inbox{0, 3, kEpoch, *this};
  std::vector<std::byte> memory = std::vector<std::byte>(1_MiB);
  Placement::Kind answer = Placement::Kind::kHere;
  int asked = 0, dropped_pieces = 0;
  std::vector<std::pair<InboxRecord*, FrameHeader>> taken;
  std::vector<Status> received_statuses, refusals;
  bool finishes_at_once = false;  // an accepted message is there at once, as an eager piece is
  int refused_question = 0;       // the n-th call of place()
  bool throws = false;            // when a message is reported

  InboxFixture() { inbox.set_client(*this); }

  Placement place(Rank, const Message& message) override {
    ++asked;
    if (asked == refused_question) return Placement::refuse(data_loss("unwanted"));
    if (answer == Placement::Kind::kHere) return Placement::here({memory.data(), message.payload_bytes});
    return answer == Placement::Kind::kLater ? Placement::later() : Placement::refuse(data_loss("unwanted"));
  }
  void received(Rank, const Message&, Status status) override {
    received_statuses.push_back(std::move(status));
    if (throws) throw std::bad_alloc();
  }
  void sent(std::uint64_t, Status) override {}
  void failed(Rank, Status) override {}
  void take_held(HeldPiece, InboxRecord* record, const FrameHeader& header, View) override {
    taken.emplace_back(record, header);
    if (finishes_at_once) inbox.finish(record, header, Status::ok());
  }
  void drop_held(HeldPiece) override { ++dropped_pieces; }
  void refused(Rank, Status reason) override { refusals.push_back(std::move(reason)); }

  static FrameHeader header(Bytes payload, Bytes stride, Bytes offset, Rank from = 1) {
    FrameHeader header = piece_header(payload, stride, offset, from);
    header.epoch = kEpoch;
    return header;
  }
};

}  // namespace

TEST_CASE_METHOD(InboxFixture, "inbox: a message is complete with its last piece, in any order") {
  for (Bytes offset : {Bytes{8192}, Bytes{0}, Bytes{4096}}) {
    CHECK(received_statuses.empty());
    const FrameHeader piece = header(10'000, 4096, offset);
    const Inbox::Arrival arrival = inbox.arrive(piece, nullptr);
    REQUIRE(arrival.answer == Inbox::Answer::kTake);
    CHECK(arrival.into.data == memory.data() + offset);
    CHECK(arrival.into.size == (offset == 8192 ? 10'000 - 8192 : 4096));
    inbox.finish(arrival.record, piece, Status::ok());
  }
  REQUIRE(received_statuses.size() == 1);
  CHECK(received_statuses[0].is_ok());
  CHECK(asked == 1);
  CHECK(inbox.empty());
}

TEST_CASE_METHOD(InboxFixture, "inbox: a piece that comes twice is dropped, whether its message has a place or not") {
  answer = Placement::Kind::kLater;
  const FrameHeader first = header(8192, 4096, 0);
  CHECK(inbox.arrive(first, nullptr).answer == Inbox::Answer::kHold);
  CHECK(inbox.arrive(first, nullptr).answer == Inbox::Answer::kDrop);
  answer = Placement::Kind::kHere;
  inbox.retry();
  REQUIRE(taken.size() == 1);
  CHECK(inbox.arrive(first, nullptr).answer == Inbox::Answer::kDrop);
  inbox.finish(taken[0].first, first, Status::ok());
  CHECK(inbox.arrive(first, nullptr).answer == Inbox::Answer::kDrop);
  CHECK(received_statuses.empty());
  CHECK(inbox.dropped() == 3);
}

TEST_CASE_METHOD(InboxFixture, "inbox: pieces that disagree about their message fail the peer") {
  answer = Placement::Kind::kLater;
  inbox.arrive(header(8192, 4096, 0), nullptr);
  FrameHeader other = header(12'288, 4096, 4096);
  CHECK(inbox.arrive(other, nullptr).answer == Inbox::Answer::kDrop);
  REQUIRE(refusals.size() == 1);
  CHECK(refusals[0].code() == StatusCode::kDataLoss);
  CHECK_THAT(refusals[0].message(), Catch::Contains("rank 1"));
}

TEST_CASE_METHOD(InboxFixture,
                 "inbox: a whole message and a piece of the same one fail the peer, in memory and put off") {
  answer = GENERATE(Placement::Kind::kHere, Placement::Kind::kLater);
  FrameHeader whole = header(10'000, 10'000, 0);
  whole.piece_stride = 4096;
  const Inbox::Arrival first = inbox.arrive(whole, nullptr);
  CHECK(inbox.arrive(header(10'000, 4096, 8192), nullptr).answer == Inbox::Answer::kDrop);
  REQUIRE(refusals.size() == 1);
  CHECK_THAT(refusals[0].message(), Catch::Contains("disagree about the message"));
  if (answer == Placement::Kind::kHere) {
    inbox.finish(first.record, whole, Status::ok());
    CHECK(received_statuses.size() == 1);
  }
}

TEST_CASE_METHOD(InboxFixture,
                 "inbox: a refusal among what was put off stops the rest of that peer's, and no other's") {
  answer = Placement::Kind::kLater;
  const auto put_off = [&](Rank from, std::uint32_t partition) {
    for (Bytes offset : {Bytes{0}, Bytes{4096}}) {
      FrameHeader piece = header(12'288, 4096, offset, from);
      piece.message.key.partition = partition;
      CHECK(inbox.arrive(piece, nullptr).answer == Inbox::Answer::kHold);
    }
  };
  for (std::uint32_t partition : {0u, 1u, 2u}) put_off(1, partition);
  answer = Placement::Kind::kHere;
  finishes_at_once = true;
  refused_question = asked + 1;
  inbox.retry();
  REQUIRE(refusals.size() == 1);
  CHECK(taken.empty());
  CHECK(dropped_pieces == 2);
  answer = Placement::Kind::kLater;
  put_off(2, 0);
  answer = Placement::Kind::kHere;
  inbox.retry();
  CHECK(taken.size() == 2);
  inbox.fail(1, refusals[0]);
  CHECK(dropped_pieces == 6);
  CHECK(received_statuses.empty());
}

TEST_CASE_METHOD(InboxFixture,
                 "inbox: messages that wait for one gradient are asked about again without those of others") {
  answer = Placement::Kind::kLater;
  for (std::uint64_t gradient = 1; gradient <= 100; ++gradient) {
    for (const Rank from : {1, 2}) {
      FrameHeader piece = header(12'288, 4096, 0, from);
      piece.message.key.gradient = gradient;
      CHECK(inbox.arrive(piece, nullptr).answer == Inbox::Answer::kHold);
    }
  }
  asked = 0;
  inbox.retry(7);
  CHECK(asked == 2);
  inbox.retry(101);
  CHECK(asked == 2);
  answer = Placement::Kind::kHere;
  inbox.retry(7);
  CHECK(asked == 4);
  CHECK(taken.size() == 2);
  inbox.retry(7);
  CHECK(asked == 4);
  for (const Rank from : {1, 2}) inbox.fail(from, data_loss("the end"));
}

TEST_CASE_METHOD(InboxFixture, "inbox: sizes in a header reserve nothing until the client has answered") {
  answer = Placement::Kind::kLater;
  const FrameHeader bomb = header(Bytes{1} << 62, kMinPieceBytes, 0);
  CHECK(inbox.arrive(bomb, nullptr).answer == Inbox::Answer::kHold);
  answer = Placement::Kind::kRefuse;
  inbox.retry();
  CHECK(dropped_pieces == 1);
  CHECK(refusals.size() == 1);
  CHECK(inbox.empty());
}

TEST_CASE_METHOD(InboxFixture, "inbox: a peer that floods us with unwanted pieces has failed") {
  answer = Placement::Kind::kLater;
  for (Bytes piece = 0; piece < 5'000 && refusals.empty(); ++piece) {
    inbox.arrive(header(1_MiB * 1024, kMinPieceBytes, piece * kMinPieceBytes), nullptr);
  }
  CHECK(refusals.size() == 1);
}

TEST_CASE_METHOD(InboxFixture,
                 "inbox: what waits is counted for each peer alone, and no longer when it has its place") {
  answer = Placement::Kind::kLater;
  const auto flood = [&](Rank from, std::uint64_t gradient, std::uint32_t messages) {
    for (std::uint32_t i = 0; i < messages && refusals.empty(); ++i) {
      FrameHeader message = header(8, 8, 0, from);
      message.message.key = {.gradient = gradient, .partition = i};
      inbox.arrive(message, nullptr);
    }
  };
  flood(1, 1, 50'000);
  flood(2, 1, 50'000);
  CHECK(refusals.empty());
  answer = Placement::Kind::kHere;
  finishes_at_once = true;
  inbox.retry();
  CHECK(inbox.empty());
  answer = Placement::Kind::kLater;
  flood(1, 2, 1'000'000);
  CHECK(refusals.empty());
  flood(1, 3, 50'000);
  REQUIRE(refusals.size() == 1);
  CHECK_THAT(refusals[0].message(),
             Catch::Contains("rank 1 has sent 1048576 pieces of messages that nobody here waits for"));
}

TEST_CASE_METHOD(InboxFixture, "inbox: the memory that a peer's waiting messages take has a limit of its own") {
  answer = Placement::Kind::kLater;
  inbox.arrive(header(100, 100, 0), nullptr);
  HeldMemory held(3, [this](Rank from, Status reason) { inbox.refuse(from, std::move(reason)); });
  held.keep(1, 500_MiB);
  held.keep(2, 500_MiB);
  held.release(1, 400_MiB);
  held.keep(1, 400_MiB);
  CHECK(refusals.empty());
  held.keep(1, 100_MiB);
  held.keep(1, 100_MiB);
  REQUIRE(refusals.size() == 1);
  CHECK_THAT(refusals[0].message(), Catch::Contains("rank 1 has sent 600 MiB that nobody here waits for"));
  FrameHeader next = header(100, 100, 0);
  next.message.key.partition = 1;
  CHECK(inbox.arrive(next, nullptr).answer == Inbox::Answer::kDrop);
  next.source = 2;
  CHECK(inbox.arrive(next, nullptr).answer == Inbox::Answer::kHold);
}

TEST_CASE_METHOD(InboxFixture, "inbox: after a refusal the peer's frames are dropped without asking") {
  answer = Placement::Kind::kRefuse;
  CHECK(inbox.arrive(header(100, 100, 0), nullptr).answer == Inbox::Answer::kDrop);
  CHECK(inbox.arrive(header(100, 100, 0), nullptr).answer == Inbox::Answer::kDrop);
  CHECK(asked == 1);
  answer = Placement::Kind::kHere;
  CHECK(inbox.arrive(header(100, 100, 0, 2), nullptr).answer == Inbox::Answer::kTake);
}

TEST_CASE_METHOD(InboxFixture, "inbox: frames of other jobs, of strangers and of ourselves are dropped") {
  FrameHeader frame = header(100, 100, 0);
  frame.epoch = kEpoch + 1;
  CHECK(inbox.arrive(frame, nullptr).answer == Inbox::Answer::kDrop);
  for (Rank from : {0, 3, 1'000'000}) {
    CHECK(inbox.arrive(header(100, 100, 0, from), nullptr).answer == Inbox::Answer::kDrop);
  }
  CHECK(asked == 0);
}

TEST_CASE_METHOD(InboxFixture, "inbox: when a peer fails, placed messages end once nothing is under way") {
  const FrameHeader first = header(8192, 4096, 0);
  const Inbox::Arrival under_way = inbox.arrive(first, nullptr);
  FrameHeader idle = header(8192, 4096, 0);
  idle.message.key.partition = 1;
  const Inbox::Arrival half = inbox.arrive(idle, nullptr);
  inbox.finish(half.record, idle, Status::ok());
  answer = Placement::Kind::kLater;
  FrameHeader held = header(100, 100, 0);
  held.message.key.partition = 2;
  inbox.arrive(held, nullptr);

  inbox.fail(1, peer_failure("rank 1 is gone"));
  CHECK(received_statuses.size() == 1);  // the half message; the other's memory is still in use
  CHECK(dropped_pieces == 1);
  inbox.finish(under_way.record, first, Status::ok());
  REQUIRE(received_statuses.size() == 2);
  for (const Status& status : received_statuses) CHECK(status.text() == "PeerFailure: rank 1 is gone");
  CHECK(inbox.empty());
}

TEST_CASE_METHOD(InboxFixture, "inbox: when a peer fails, each of its messages ends although the client throws") {
  for (const Rank from : {1, 2}) {
    for (std::uint32_t partition = 0; partition < 3; ++partition) {
      FrameHeader half = header(8192, 4096, 0, from);
      half.message.key.partition = partition;
      const Inbox::Arrival arrival = inbox.arrive(half, nullptr);
      inbox.finish(arrival.record, half, Status::ok());
    }
  }
  CHECK(received_statuses.empty());
  throws = true;
  SECTION("one peer") {
    CHECK_THROWS_AS(inbox.fail(1, peer_failure("rank 1 is gone")), std::bad_alloc);
    CHECK(received_statuses.size() == 3);
    throws = false;
    inbox.fail(2, data_loss("the end"));
  }
  SECTION("all of them") {
    CHECK_THROWS_AS(inbox.fail_all(aborted("closed")), std::bad_alloc);
    CHECK(received_statuses.size() == 6);
  }
  CHECK(inbox.empty());
}

TEST_CASE_METHOD(InboxFixture, "inbox: a peer that has left fails when a message that lacks pieces gets its place") {
  answer = Placement::Kind::kLater;
  const FrameHeader half = header(12'288, 4096, 0);
  FrameHeader whole = header(100, 100, 0);
  whole.message.key.gradient = 6;
  for (const FrameHeader& piece : {half, whole}) {
    CHECK(inbox.arrive(piece, nullptr).answer == Inbox::Answer::kHold);
  }
  inbox.leave(1);
  inbox.retry();
  CHECK(refusals.empty());  // nobody has wanted it yet
  answer = Placement::Kind::kHere;
  finishes_at_once = true;
  inbox.retry(6);
  CHECK(received_statuses.size() == 1);
  CHECK(refusals.empty());
  inbox.retry();
  REQUIRE(refusals.size() == 1);
  CHECK(refusals[0].text() == "PeerFailure: rank 1 closed its transport in the middle of a message");
  CHECK(dropped_pieces == 1);
  inbox.fail(1, refusals[0]);
  REQUIRE(received_statuses.size() == 2);
  CHECK(received_statuses[1].code() == StatusCode::kPeerFailure);
  CHECK(inbox.empty());
}

TEST_CASE_METHOD(InboxFixture, "inbox: a wrong checksum is DataLoss that names the message") {
  FrameHeader frame = header(100, 100, 0);
  frame.checksummed = true;
  frame.piece_checksum = 1;
  const Inbox::Arrival arrival = inbox.arrive(frame, nullptr);
  inbox.finish(arrival.record, frame, Status::ok());
  REQUIRE(received_statuses.size() == 1);
  CHECK(received_statuses[0].code() == StatusCode::kDataLoss);
  CHECK_THAT(received_statuses[0].message(),
             Catch::Contains("gradient 0x5 step 0 partition 0 hop 0 from rank 1: checksum differs"));
}

}  // namespace casync::test
