// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/inbox_records.h"

#include <memory_resource>
#include <vector>

#include <catch2/catch.hpp>

namespace casync::test {
namespace {

using namespace casync::runtime;  // NOLINT: every name here is from there

FrameHeader header_of(Rank from, std::uint32_t partition) {
  FrameHeader header;
  header.source = from;
  header.message.key = {.gradient = 5, .partition = partition};
  header.message.payload_bytes = header.piece_stride = header.piece_bytes = 8;
  return header;
}

/// Counts what is not given back.
class Counting : public std::pmr::memory_resource {
 public:
  std::size_t bytes = 0;

 private:
  void* do_allocate(std::size_t size, std::size_t alignment) override {
    bytes += size;
    return std::pmr::new_delete_resource()->allocate(size, alignment);
  }
  void do_deallocate(void* memory, std::size_t size, std::size_t alignment) override {
    bytes -= size;
    std::pmr::new_delete_resource()->deallocate(memory, size, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
};

struct InboxRecordsFixture {
  Counting memory;
  InboxRecords records{&memory};
  std::vector<std::byte> payload = std::vector<std::byte>(8);

  InboxRecord& make(Rank from, std::uint32_t partition) {
    bool is_new = false;
    InboxRecord& record = records.find_or_make(header_of(from, partition), is_new);
    CHECK(is_new);
    return record;
  }
};

}  // namespace

TEST_CASE_METHOD(InboxRecordsFixture,
                 "inbox records: a message is known by its sender and its name until it is forgotten") {
  InboxRecord& first = make(1, 0);
  make(2, 0);
  make(1, 1);
  bool is_new = true;
  CHECK(&records.find_or_make(header_of(1, 0), is_new) == &first);
  CHECK_FALSE(is_new);
  records.forget(first);
  make(1, 0);
}

TEST_CASE_METHOD(InboxRecordsFixture, "inbox records: idle ones of a peer are found, abandoned ones count as idle") {
  InboxRecord& busy = make(1, 0);
  InboxRecord& idle = make(1, 1);
  make(2, 0);
  busy.place({payload.data(), payload.size()});
  REQUIRE(busy.take(header_of(1, 0)));
  std::vector<InboxRecord*> found;
  records.add_idle(1, found);
  CHECK(found == std::vector<InboxRecord*>{&idle});
  records.abandon();
  found.clear();
  records.add_idle(1, found);
  CHECK(found.size() == 2);
}

TEST_CASE_METHOD(InboxRecordsFixture, "inbox records: a peer has a placed message until that is forgotten") {
  InboxRecord& record = make(1, 0);
  CHECK_FALSE(records.has_placed(1));
  record.place({payload.data(), payload.size()});
  CHECK(records.has_placed(1));
  CHECK_FALSE(records.has_placed(2));
  records.forget(record);
  CHECK_FALSE(records.has_placed(1));
  CHECK(records.empty());
}

TEST_CASE("inbox records: records that are left give their memory back") {
  Counting memory;
  {
    InboxRecords records(&memory);
    bool is_new = false;
    records.find_or_make(header_of(1, 0), is_new);
    records.find_or_make(header_of(1, 1), is_new).hold(header_of(1, 1), nullptr);
    CHECK(memory.bytes != 0);
  }
  CHECK(memory.bytes == 0);
}

}  // namespace casync::test
