// SPDX-License-Identifier: Apache-2.0
//
// Messages between two ranks, round by round, and those that are refused.
#include "runtime/executor/messages.h"

#include <catch2/catch.hpp>
#include <functional>

#include "runtime/executor/message_hops.h"
#include "tests/runtime/executor/one_rank.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// Rank 1's contribution to the first step, as its own executor would send it.
Message contribution_of(const GradientRun& run) {
  const BufferId buffer = run.arrivals.all()[0].to();
  Message message;
  message.key = {run.key, 0, run.arrivals.all()[0].id().partition, run.arrivals.all()[0].id().hop};
  message.codec = run.codec_of(buffer).info().number;
  message.elements = run.buffers.elements_in(buffer);
  message.payload_bytes = run.buffers.bound_of(buffer);
  return message;
}

}  // namespace

TEST_CASE("messages: steps of two ranks end with the sum on both, and each task is counted") {
  auto ranks = test::make_ranks(2, 740);
  std::vector<GradientRun*> runs;
  for (const auto& one : ranks) runs.push_back(&one->take_in());
  for (std::uint32_t step = 0; step < 3; ++step) {
    std::vector<std::vector<float>> values = {std::vector<float>(100, 1), std::vector<float>(100, 2)};
    ranks[1]->begin(*runs[1], step, values[1]);
    test::run_all(ranks);  // rank 0's place comes later
    CHECK(runs[1]->step.completed() == step);
    ranks[0]->begin(*runs[0], step, values[0]);
    test::run_all(ranks);
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(runs[i]->step.completed() == step + 1);
      CHECK(values[i] == std::vector<float>(100, 3));
      CHECK(ranks[i]->waiters.active() == 0);
      CHECK(ranks[i]->reported.empty());
      CHECK(ranks[i]->record.counters().tasks == (step + 1) * runs[i]->graph.tasks().size());
    }
  }
  CHECK(ranks[0]->transport->stats().messages_received == 3);
}

TEST_CASE("messages: one that is not what its step expects is refused, with the reason") {
  auto ranks = test::make_ranks(2, 741);
  test::OneRank& one = *ranks[0];
  GradientRun& run = one.take_in();
  const Message right = contribution_of(run);
  Messages& messages = one.parts.messages;
  CHECK(messages.place(1, right).kind == Placement::Kind::kLater);  // the step has not begun
  std::vector<float> values(100, 1);
  one.begin(run, 0, values);
  const auto refused = [&](const std::function<void(Message&)>& change) {
    Message message = right;
    change(message);
    const Placement placement = messages.place(1, message);
    return placement.kind == Placement::Kind::kRefuse ? placement.reason.message() : "taken";
  };
  const std::string named = "its message (gradient weight, step 0, partition 0, hop 0) is refused: ";
  CHECK(refused([](Message& message) { message.codec = 99; }) == named + "codec number 99, expected 1 (none)");
  CHECK(refused([](Message& message) { message.elements = 99; }) == named + "99 elements, expected 100");
  CHECK(refused([](Message& message) { message.payload_bytes = 404; }) == named + "404 bytes, expected at most 400");
  CHECK(refused([](Message& message) { message.payload_bytes = 396; }) == named + "396 bytes, expected 400");
  CHECK(refused([](Message& message) { message.key.partition = 5; }) ==
        "its message (gradient weight, step 0, partition 5, hop 0) is refused: nothing like it is expected here");
  Message unknown = right;
  ++unknown.key.gradient;
  CHECK(messages.place(1, unknown).kind == Placement::Kind::kLater);  // declared there, here soon
  CHECK(messages.place(1, right).kind == Placement::Kind::kHere);
  CHECK(refused([](Message&) {}) == named + "it came twice");
  run.step.end(Clock::now());
  CHECK(refused([](Message&) {}) == "it sent gradient weight, step 0, partition 0, hop 0, and that step is over here");
}

TEST_CASE("messages: an answer of no elements is taken without a payload, and refused with one") {
  auto ranks = test::make_ranks(2, 744);
  test::OneRank& one = *ranks[0];
  GradientSpec spec{"weight", DType::kFloat16, {100}, 0};
  spec.scattered = true;
  const Topology topology = Topology::flat(2);
  const Result<Declared> declared = declare_gradient({}, spec, topology);
  REQUIRE(declared.is_ok());
  std::vector<std::unique_ptr<GradientRun>> runs;
  runs.push_back(std::move(make_run(*declared, topology, 0, 0)).value());
  GradientRun& run = *runs[0];
  REQUIRE(one.parts.take_in(std::move(runs)).is_ok());
  std::vector<std::uint16_t> values(100);
  one.waiters.begin(1);
  one.parts.steps.begin({&run, 0, {reinterpret_cast<std::byte*>(values.data()), 200}});
  Message message;
  message.key = {run.key, 0, 1, 1};
  message.codec = run.codec(Hop::kRaw).info().number;
  message.elements = 0;
  message.payload_bytes = 16;
  const Placement refused = one.parts.messages.place(1, message);
  REQUIRE(refused.kind == Placement::Kind::kRefuse);
  CHECK(refused.reason.message().ends_with("is refused: 16 bytes, expected at most 0"));
  message.payload_bytes = 0;
  CHECK(one.parts.messages.place(1, message).kind == Placement::Kind::kHere);
}

TEST_CASE("messages: none gets a place while a comparison is wanted or after a failure, but words without a payload") {
  test::BegunStep begun(0, 742);
  test::OneRank& one = begun.one;
  const Message right = contribution_of(begun.run);
  Message word;
  word.key.hop = kNoticeHop;
  const auto takes = [&](const Message& message) {
    return one.parts.messages.place(1, message).kind == Placement::Kind::kHere;
  };
  one.parts.comparisons.want(1, 0);
  CHECK_FALSE(takes(right));
  CHECK(takes(word));
  one.parts.comparisons.end();
  one.failures.fail(data_loss("a cause"));
  CHECK_FALSE(takes(right));
  CHECK(takes(word));
}

TEST_CASE("messages: a damaged payload ends the job, and a peer's end is the owner's to judge") {
  auto ranks = test::make_ranks(2, 743);
  test::OneRank& one = *ranks[0];
  const GradientRun& run = one.take_in();
  const Message message = contribution_of(run);
  one.parts.messages.received(1, message, peer_failure("gone"));
  CHECK(one.reported.empty());
  one.parts.messages.failed(1, peer_failure("gone"));
  CHECK(one.broke == std::vector<std::pair<Rank, std::string>>{{1, "PeerFailure: gone"}});
  one.parts.messages.received(1, message, data_loss("wrong checksum"));
  CHECK(one.reported == std::vector<std::string>{"DataLoss: message from rank 1 (gradient weight, step 0, partition 0, "
                                                 "hop 0): wrong checksum"});
  one.parts.messages.failed(1, peer_failure("gone"));
  CHECK(one.broke.size() == 1);
}
