// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/retry_requests.h"

#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

namespace casync::test {
namespace {

using namespace casync::runtime;  // NOLINT: every name here is from there

/// Rank 0 of two, which puts off a message of each of the gradients 1 and 2.
struct RetryRequestsFixture : PieceSource, TransportClient {
  Inbox inbox{0, 2, 9, *this};
  RetryRequests requests;
  std::vector<std::uint64_t> asked;
  bool asks_for_more = false;

  RetryRequestsFixture() {
    inbox.set_client(*this);
    for (std::uint64_t gradient : {1, 2}) {
      FrameHeader header;
      header.epoch = 9;
      header.source = 1;
      header.message.key.gradient = gradient;
      header.message.payload_bytes = header.piece_stride = header.piece_bytes = 8;
      inbox.arrive(header, nullptr);
    }
    asked.clear();
  }
  ~RetryRequestsFixture() override { inbox.fail_all(data_loss("the end")); }

  Placement place(Rank, const Message& message) override {
    asked.push_back(message.key.gradient);
    if (asks_for_more) requests.ask(message.key.gradient);
    return Placement::later();
  }
  void received(Rank, const Message&, Status) override {}
  void sent(std::uint64_t, Status) override {}
  void failed(Rank, Status) override {}
  void take_held(HeldPiece, InboxRecord*, const FrameHeader&, View) override {}
  void drop_held(HeldPiece) override {}
  void refused(Rank, Status) override {}
};

}  // namespace

TEST_CASE_METHOD(RetryRequestsFixture, "retry requests: the client is asked about one gradient, or about all, once") {
  CHECK_FALSE(requests.any());
  CHECK_FALSE(requests.meet(inbox));
  requests.ask(2);
  CHECK(requests.any());
  CHECK(requests.meet(inbox));
  CHECK(asked == std::vector<std::uint64_t>{2});
  CHECK_FALSE(requests.any());
  requests.ask();
  CHECK(requests.meet(inbox));
  CHECK(asked.size() == 3);
  CHECK_FALSE(requests.meet(inbox));
  CHECK(asked.size() == 3);
}

TEST_CASE_METHOD(RetryRequestsFixture,
                 "retry requests: those that the client makes while it is asked wait for the next time") {
  asks_for_more = true;
  requests.ask(1);
  CHECK(requests.meet(inbox));
  CHECK(asked.size() == 1);
  CHECK(requests.any());
  asks_for_more = false;
  CHECK(requests.meet(inbox));
  CHECK(asked.size() == 2);
  CHECK_FALSE(requests.any());
}

}  // namespace casync::test
