// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/links.h"

#include <catch2/catch.hpp>

#include "runtime/executor/message_hops.h"
#include "tests/runtime/executor/waiting_sends.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// The links of rank 0 of two. The cookie of a message is its bytes.
struct LinkedSide {
  explicit LinkedSide(ExecutorOptions wanted = {.ranks = 2, .fusion_bytes = 0}) : options(wanted) {}
  void push(Bytes bytes) { links.push(1, {run.get(), TaskId{0}, 0, 0, bytes}); }

  const ExecutorOptions options;
  const std::unique_ptr<GradientRun> run = test::make_weight("weight", 2, 0);
  test::KeptMessages transport;
  Links links{options, transport, [](const ReadyTask& ready) {
                Outgoing out;
                out.payload = {nullptr, ready.arrival};
                out.cookie = ready.arrival;
                return out;
              }};
};

}  // namespace

TEST_CASE("links: without a plan's choice a link takes a window, and the rest when that has left") {
  LinkedSide side;
  CHECK_FALSE(side.links.flush());
  CHECK(side.links.due() == Clock::time_point::max());
  for (int i = 0; i < 2; ++i) side.push(LinkPace::kWindow);
  CHECK(side.links.flush());
  CHECK(side.transport.take().size() == 1);
  CHECK(side.links.due() < Clock::time_point::max());
  side.links.sent(1, LinkPace::kWindow);
  CHECK(side.links.flush());
  CHECK(side.transport.take().size() == 1);
  CHECK(side.links.due() == Clock::time_point::max());
}

TEST_CASE("links: by credit a message waits for word of the previous one, and words are owed for those that came") {
  LinkedSide side;
  const MessageKey key{};
  side.links.put_off(1, key);  // no credit: no word
  side.links.received(1, key);
  side.links.arrived(1, key);
  CHECK(side.links.idle());
  CHECK_FALSE(side.links.flush());
  side.links.set_credit(100, Topology::flat(2));
  for (const Bytes bytes : {70, 60}) side.push(bytes);
  CHECK(side.links.flush());
  CHECK(side.transport.take().size() == 1);
  CHECK(side.links.due() == Clock::time_point::max());
  CHECK_FALSE(side.links.idle());
  side.links.arrived(1, key);
  CHECK(side.links.idle());
  side.links.received(1, key);
  CHECK(side.links.flush());
  const std::vector<test::KeptMessages::Sent> sent = side.transport.take();
  REQUIRE(sent.size() == 2);
  CHECK(sent[0].outgoing[0].cookie == kNoticeCookie);
  CHECK(sent[1].outgoing[0].cookie == 70);
}

TEST_CASE("links: with a coordinator a send waits for its leave, which its words bring") {
  LinkedSide side({.rank = 1, .ranks = 3, .fusion_bytes = 0, .coordinated = true});
  side.links.push(2, {side.run.get(), TaskId{0}, 0, 0, 50});
  CHECK_FALSE(side.links.flush());
  CHECK(side.transport.take().size() == 1);
  Message leave;
  leave.key = {.gradient = 0, .step = 1, .partition = 2, .hop = kGrantHop};
  side.links.take_coordination(0, leave);
  CHECK(side.links.flush());
  CHECK(side.transport.take()[0].outgoing[0].cookie == 50);
  side.links.sent(2, 50);
  CHECK(side.transport.take()[0].outgoing[0].message.key.hop == kEndHop);
}
