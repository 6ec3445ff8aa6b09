// SPDX-License-Identifier: Apache-2.0
#include "tests/support/interpreter.h"

#include <catch2/catch.hpp>

#include "tests/support/meanings.h"

// The interpreter is what proves strategies: these tests show that it notices what it must notice.
namespace casync::test {
namespace {

using Catch::Matchers::Contains;
constexpr Slice kAll{0, 4};

// Two ranks; rank 0 merges and hands back. `spoil` sees the builders ahead of building.
struct Pair {
  TaskGraph::Builder hub, spoke;
  BufferId theirs = hub.buffer({kAll, Hop::kFirst}), sum = hub.buffer({kAll, Hop::kSecond});
  BufferId mine = spoke.buffer({kAll, Hop::kFirst}), result = spoke.buffer({kAll, Hop::kSecond});

  explicit Pair(std::vector<std::optional<BufferId>> contributions = {std::nullopt, BufferId{0}}, bool last = true) {
    hub.add(Recv{1, theirs, {0, 0}});
    hub.add(Merge{std::move(contributions), kAll, sum, last});
    hub.add(Send{1, sum, {0, 1}});
    hub.add(Decode{sum, kAll});
    spoke.add(Encode{kAll, mine});
    spoke.add(Send{0, mine, {0, 0}});
    spoke.add(Recv{0, result, {0, 1}});
    spoke.add(Decode{result, kAll});
  }

  std::vector<TaskGraph> build() {
    std::vector<TaskGraph> graphs;
    graphs.push_back(std::move(hub).build());
    graphs.push_back(std::move(spoke).build());
    return graphs;
  }
};

std::string fault(Pair pair, const Schedule& schedule = {}) {
  const std::vector<TaskGraph> graphs = pair.build();
  Contributions contributions(2, kAll.count);
  const Status run = interpret(graphs, contributions, schedule);
  return run.is_ok() ? contributions.complete().message() : run.message();
}

}  // namespace

TEST_CASE("interpreter: a sound exchange is complete in every order and delivery") {
  const auto order = GENERATE(Order::kRandom, Order::kEarliest, Order::kLatest);
  const auto delivery = GENERATE(Delivery::kBuffered, Delivery::kRendezvous);
  CHECK(fault(Pair(), {order, delivery, 1}).empty());
}

TEST_CASE("interpreter: notices a contribution that is missing or counted twice") {
  CHECK_THAT(fault(Pair({std::nullopt})), Contains("rank 0, element 0: holds rank 1 0 times"));
  CHECK_THAT(fault(Pair({std::nullopt, BufferId{0}, BufferId{0}})), Contains("holds rank 1 2 times"));
}

TEST_CASE("interpreter: notices a result that was not scaled") {
  CHECK_THAT(fault(Pair({std::nullopt, BufferId{0}}, false)), Contains("scaled 0 times"));
}

TEST_CASE("interpreter: notices a rank that applies something else than what was sent") {
  Pair pair;
  TaskGraph::Builder alone;
  const BufferId own = alone.buffer({kAll, Hop::kSecond});
  const BufferId unused = alone.buffer({kAll, Hop::kSecond}), mine = alone.buffer({kAll, Hop::kFirst});
  alone.add(Encode{kAll, mine});
  alone.add(Send{0, mine, {0, 0}});
  alone.add(Recv{0, unused, {0, 1}});
  alone.add(Merge{{std::nullopt}, kAll, own, true});
  alone.add(Decode{own, kAll});
  pair.spoke = std::move(alone);
  CHECK_THAT(fault(std::move(pair)), Contains("rank 1, element 0: not what rank 0 has"));
}

TEST_CASE("interpreter: notices elements decoded twice and never") {
  Pair twice;
  twice.spoke.add(Decode{twice.result, {1, 1}});
  CHECK_THAT(fault(std::move(twice)), Contains("rank 1, element 1: 2 decodes"));
  std::vector<TaskGraph> none(2);
  Contributions contributions(2, 1);
  CHECK(interpret(std::vector<TaskGraph>(), contributions, {}).is_ok());
  CHECK_THAT(contributions.complete().message(), Contains("rank 0, element 0: 0 decodes"));
}

TEST_CASE("interpreter: names the task that can never run") {
  const auto delivery = GENERATE(Delivery::kBuffered, Delivery::kRendezvous);
  Pair pair;
  pair.spoke.add(Recv{0, pair.spoke.buffer({kAll}), {0, 9}});
  CHECK_THAT(fault(std::move(pair), {Order::kRandom, delivery, 1}),
             Contains("rank 1, recv 0.9") && Contains("deadlock"));
}

TEST_CASE("interpreter: ranks that each send first and then receive deadlock only without buffers") {
  const auto delivery = GENERATE(Delivery::kBuffered, Delivery::kRendezvous);
  std::vector<TaskGraph> graphs;
  for (Rank self : {0, 1}) {
    TaskGraph::Builder builder;
    const BufferId mine = builder.buffer({kAll}), theirs = builder.buffer({kAll});
    builder.add(Encode{kAll, mine});
    const TaskId sent = builder.add(Send{1 - self, mine, {0, 0}});
    builder.after(sent, builder.add(Recv{1 - self, theirs, {0, 0}}));
    graphs.push_back(std::move(builder).build());
  }
  Contributions contributions(2, kAll.count);
  CHECK(interpret(graphs, contributions, {Order::kRandom, delivery, 1}).is_ok() == (delivery == Delivery::kBuffered));
}

TEST_CASE("check_messages: a sound exchange passes") { CHECK(check_messages(Pair().build()).is_ok()); }

TEST_CASE("check_messages: notices a message without its other end, or with another one") {
  Pair sent;
  sent.spoke.add(Send{0, sent.mine, {0, 5}});
  CHECK_THAT(check_messages(sent.build()).message(), Contains("message 0.5 from rank 1 to rank 0 is sent, but not"));
  Pair expected;
  expected.hub.add(Recv{1, expected.hub.buffer({kAll}), {0, 5}});
  CHECK_THAT(check_messages(expected.build()).message(), Contains("is expected, but not sent"));
  const auto other = GENERATE(values<Buffer>({{{0, 3}}, {kAll, Hop::kSecond}}));
  Pair different;
  different.spoke.add(Send{0, different.mine, {0, 5}});
  different.hub.add(Recv{1, different.hub.buffer(other), {0, 5}});
  CHECK_THAT(check_messages(different.build()).message(), Contains("as one thing and expected as another"));
}

}  // namespace casync::test
