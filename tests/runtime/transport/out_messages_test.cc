// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/out_messages.h"

#include <vector>

#include <catch2/catch.hpp>

namespace casync::test {
namespace {

using casync::runtime::OutMessage;
using casync::runtime::OutMessages;

struct OutMessagesFixture {
  OutMessages messages{3};

  std::vector<OutMessage*> of(Rank to) {
    std::vector<OutMessage*> found;
    messages.for_each_of(to, [&](OutMessage& message) { found.push_back(&message); });
    return found;
  }
};

}  // namespace

TEST_CASE_METHOD(OutMessagesFixture, "out messages: newest, middle and oldest of a peer can end") {
  for (std::size_t gone = 0; gone < 3; ++gone) {
    std::vector<OutMessage*> all;
    for (int i = 0; i < 3; ++i) all.insert(all.begin(), messages.take(1));
    OutMessage* const other = messages.take(2);
    CHECK(of(1) == all);
    messages.give(*all[gone]);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(gone));
    CHECK(of(1) == all);
    CHECK(of(2) == std::vector<OutMessage*>{other});
    for (OutMessage* message : all) messages.give(*message);
    messages.give(*other);
    CHECK(messages.idle());
  }
}

TEST_CASE_METHOD(OutMessagesFixture,
                 "out messages: a peer is idle again when all to it have ended, fused ones too, and stays used") {
  CHECK(messages.idle(1));
  CHECK_FALSE(messages.used(1));
  OutMessage* const single = messages.take(1);
  OutMessage* const fused = messages.take_fused(1);
  CHECK(of(1) == std::vector<OutMessage*>{single});
  messages.give(*single);
  CHECK_FALSE(messages.idle(1));
  messages.give(*fused);
  CHECK(messages.idle(1));
  CHECK(messages.used(1));
  CHECK_FALSE(messages.used(2));
}

TEST_CASE_METHOD(OutMessagesFixture,
                 "out messages: one that is used again brings nothing of its last use but its memory") {
  OutMessage* const first = messages.take_fused(1);
  first->status = data_loss("damaged");
  first->cookies = {1, 2};
  first->all_started = first->is_put_off = true;
  first->next_offset = first->pieces_under_way = first->bytes_under_way = 7;
  OutMessages::buffer_of(*first).resize(1000);
  messages.give(*first);
  OutMessage* const again = messages.take_fused(2);
  REQUIRE(again == first);
  CHECK(again->to == 2);
  CHECK(again->status.is_ok());
  CHECK(again->cookies.empty());
  CHECK_FALSE(again->all_started);
  CHECK_FALSE(again->is_put_off);
  CHECK(again->next_offset + again->pieces_under_way + again->bytes_under_way == 0);
  CHECK(OutMessages::buffer_of(*again).capacity() >= 1000);
  messages.give(*again);
}

TEST_CASE_METHOD(OutMessagesFixture, "out messages: all that are in use are found, and may end then") {
  messages.take(1);
  messages.give(*messages.take(2));
  messages.take_fused(2);
  int found = 0;
  messages.for_each([&](OutMessage& message) {
    ++found;
    messages.give(message);
  });
  CHECK(found == 2);
  CHECK(messages.idle());
}

}  // namespace casync::test
