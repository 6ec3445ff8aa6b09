// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/waiting_messages.h"

#include <algorithm>
#include <deque>
#include <memory_resource>
#include <vector>

#include <catch2/catch.hpp>

namespace casync::test {
namespace {

using namespace casync::runtime;  // NOLINT: every name here is from there

FrameHeader header_of(Rank from, std::uint64_t gradient, Bytes offset = 0) {
  FrameHeader header;
  header.source = from;
  header.message.key.gradient = gradient;
  header.message.payload_bytes = 1_MiB * 1024;
  header.piece_stride = header.piece_bytes = 4096;
  header.piece_offset = offset;
  return header;
}

struct WaitingMessagesFixture {
  std::pmr::memory_resource* memory = std::pmr::new_delete_resource();
  std::deque<InboxRecord> records;
  WaitingMessages waiting{3, memory};

  InboxRecord& make(Rank from, std::uint64_t gradient) {
    return records.emplace_back(header_of(from, gradient), memory);
  }
  std::vector<InboxRecord*> of(std::uint64_t gradient) const {
    std::vector<InboxRecord*> found;
    waiting.add_of(gradient, found);
    std::sort(found.begin(), found.end());
    return found;
  }
  std::size_t count() const {
    std::vector<InboxRecord*> found;
    waiting.add_all(found);
    return found.size();
  }
};

}  // namespace

TEST_CASE_METHOD(WaitingMessagesFixture, "waiting messages: first, middle and last of a gradient can leave its list") {
  std::vector<InboxRecord*> all;
  for (int i = 0; i < 3; ++i) all.push_back(&make(1, 7));
  InboxRecord& other = make(1, 8);
  std::sort(all.begin(), all.end());
  for (std::size_t gone = 0; gone < all.size(); ++gone) {
    for (InboxRecord* record : all) waiting.add(*record);
    waiting.add(other);
    CHECK(of(7) == all);
    std::vector<InboxRecord*> rest = all;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(gone));
    waiting.remove(*all[gone]);
    CHECK(of(7) == rest);
    CHECK(of(8) == std::vector<InboxRecord*>{&other});
    CHECK(count() == 3);
    for (InboxRecord* record : all) waiting.remove(*record);
    CHECK(of(7).empty());
  }
  waiting.remove(other);
  CHECK(waiting.empty());
}

TEST_CASE_METHOD(WaitingMessagesFixture, "waiting messages: one is in its list once, however often it is put off") {
  InboxRecord& record = make(1, 7);
  waiting.add(record);
  waiting.add(record);
  CHECK(count() == 1);
  waiting.remove(record);
  waiting.remove(record);
  CHECK(waiting.empty());
}

TEST_CASE_METHOD(WaitingMessagesFixture, "waiting messages: a message holds so many pieces, and no more") {
  InboxRecord& record = make(1, 7);
  for (Bytes i = 0; i < 1024; ++i) REQUIRE(waiting.hold(record, header_of(1, 7, i * 4096), nullptr).is_ok());
  const Status refused = waiting.hold(record, header_of(1, 7, Bytes{1024} * 4096), nullptr);
  CHECK(refused.code() == StatusCode::kDataLoss);
  CHECK(refused.message() == "rank 1 has sent 1024 pieces of messages that nobody here waits for");
  CHECK(record.held().size() == 1024);
}

TEST_CASE_METHOD(WaitingMessagesFixture, "waiting messages: pieces that are taken count for their peer no more") {
  bool all_held = true;
  for (int message = 0; message < 1024; ++message) {
    InboxRecord& record = make(1, 7);
    for (Bytes i = 0; i < 1024; ++i) {
      all_held = waiting.hold(record, header_of(1, 7, i * 4096), nullptr).is_ok() && all_held;
    }
  }
  CHECK(all_held);
  CHECK(waiting.hold(make(1, 7), header_of(1, 7), nullptr).code() == StatusCode::kDataLoss);
  CHECK(waiting.hold(make(2, 7), header_of(2, 7), nullptr).is_ok());
  CHECK(waiting.take_held(records.front()).size() == 1024);
  CHECK(waiting.hold(make(1, 7), header_of(1, 7), nullptr).is_ok());
}

}  // namespace casync::test
