// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "casync/graph/task_graph.h"

namespace casync::test {
namespace {

constexpr Slice kAllElements{0, 8};
using Catch::Matchers::Contains;

// One rank's part in a sum of two, which each test spoils in one way.
struct Sum {
  TaskGraph::Builder builder;
  BufferId mine = builder.buffer({kAllElements, Hop::kFirst}), merged = builder.buffer({kAllElements, Hop::kSecond});
  TaskId encode = builder.add(Encode{kAllElements, mine});
  TaskId send = builder.add(Send{1, mine, {0, 0}});
  TaskId recv = builder.add(Recv{1, merged, {0, 1}});
  TaskId decode = builder.add(Decode{merged, kAllElements});

  Sum() { builder.after(send, decode); }

  std::string error(Elements elements = 8) {
    const Status status = std::move(builder).build().validate(elements, 2, 0);
    if (!status.is_ok()) CHECK(status.code() == StatusCode::kInternal);
    return status.message();
  }
};

void check(const std::string& error, bool sound, const std::string& otherwise) {
  if (sound) {
    CHECK(error.empty());
  } else {
    CHECK_THAT(error, Contains(otherwise));
  }
}

}  // namespace

TEST_CASE("validate: a sound graph passes") { CHECK(Sum().error().empty()); }

TEST_CASE("validate: a buffer id out of range") {
  Sum sum;
  sum.builder.add(Decode{BufferId{7}, kAllElements});
  CHECK_THAT(sum.error(), Contains("task 4 (decode b7 to [0, 8))") && Contains("no buffer b7; the graph has 2"));
}

TEST_CASE("validate: a written buffer id out of range") {
  Sum sum;
  sum.builder.add(Encode{kAllElements, BufferId{2}});
  CHECK_THAT(sum.error(), Contains("no buffer b2"));
}

TEST_CASE("validate: a rank out of range") {
  Sum sum;
  sum.builder.add(Send{2, sum.mine, {0, 2}});
  CHECK_THAT(sum.error(), Contains("send b0 to rank 2") && Contains("ranks 0 to 1"));
}

TEST_CASE("validate: a message to this rank itself") {
  Sum sum;
  sum.builder.add(Send{0, sum.mine, {0, 2}});
  CHECK_THAT(sum.error(), Contains("this rank itself"));
}

TEST_CASE("validate: a buffer beyond the gradient's elements") {
  CHECK_THAT(Sum().error(7), Contains("elements [0, 8) of a gradient of 7"));
}

TEST_CASE("validate: a slice whose end wraps around") {
  Sum sum;
  sum.builder.buffer({{2, ~Elements{0}}});
  CHECK_THAT(sum.error(), Contains("buffer 2"));
}

TEST_CASE("validate: encode, decode and merge whose slice is not their buffer's") {
  const auto spoiled = GENERATE(values<Primitive>({Encode{{0, 4}, BufferId{2}}, Decode{BufferId{1}, {0, 4}},
                                                   Merge{{BufferId{0}, std::nullopt}, {0, 4}, BufferId{2}, false}}));
  Sum sum;
  sum.builder.buffer({kAllElements});
  sum.builder.add(spoiled);
  CHECK_THAT(sum.error(), Contains("holds elements [0, 8), not [0, 4)"));
}

TEST_CASE("validate: a buffer written twice") {
  Sum sum;
  sum.builder.add(Recv{1, sum.mine, {0, 2}});
  CHECK_THAT(sum.error(), Contains("task 4 (recv 0.2 from rank 1 into b0)") && Contains("writes that buffer too"));
}

TEST_CASE("validate: a buffer read but never written") {
  Sum sum;
  const BufferId empty = sum.builder.buffer({kAllElements});
  sum.builder.add(Send{1, empty, {0, 2}});
  CHECK_THAT(sum.error(), Contains("no task writes buffer b2"));
}

TEST_CASE("validate: a message named twice") {
  Sum sum;
  sum.builder.add(Send{1, sum.mine, {0, 0}});
  CHECK_THAT(sum.error(), Contains("another message with that rank has the same name"));
}

TEST_CASE("validate: one name for a message there and a message back is no conflict") {
  Sum sum;
  sum.builder.after(sum.builder.add(Send{1, sum.mine, {0, 1}}), sum.decode);
  CHECK(sum.error().empty());
}

TEST_CASE("validate: a message named after another partition than its buffer's") {
  Sum sum;
  sum.builder.add(Send{1, sum.mine, {3, 0}});
  CHECK_THAT(sum.error(), Contains("the buffer is of partition 0"));
}

TEST_CASE("validate: a merge of nothing") {
  Sum sum;
  sum.builder.add(Merge{{}, kAllElements, sum.builder.buffer({kAllElements}), false});
  CHECK_THAT(sum.error(), Contains("nothing to merge"));
}

TEST_CASE("validate: a merge that counts a contribution twice") {
  const std::optional<BufferId> twice = GENERATE(values<std::optional<BufferId>>({std::nullopt, BufferId{0}}));
  Sum sum;
  sum.builder.add(Merge{{twice, twice}, kAllElements, sum.builder.buffer({kAllElements}), false});
  CHECK_THAT(sum.error(), Contains("listed twice"));
}

TEST_CASE("validate: a merge of codes of different hops; a sum among them is floats, as own elements are") {
  const auto [other, sound] = GENERATE(values<std::pair<Hop, bool>>(
      {{Hop::kRaw, false}, {Hop::kSecond, false}, {Hop::kFirst, true}, {Hop::kSum, true}}));
  TaskGraph::Builder builder;
  const BufferId theirs = builder.buffer({kAllElements}), sum = builder.buffer({kAllElements, other}),
                 all = builder.buffer({kAllElements, Hop::kSecond});
  builder.add(Recv{1, theirs, {0, 0}});
  builder.add(other == Hop::kSum ? Primitive(Merge{{std::nullopt}, kAllElements, sum, false})
                                 : Primitive(Recv{1, sum, {0, 1}}));
  builder.add(Merge{{theirs, sum}, kAllElements, all, true});
  builder.add(Decode{all, kAllElements});
  const std::string error = std::move(builder).build().validate(kAllElements.count, 2, 0).message();
  CAPTURE(static_cast<int>(other));
  check(error, sound, "task 2 (merge b0 + b1 into b2, the last): the codes are of different hops");
}

TEST_CASE("validate: a sum that travels") {
  Sum sent;
  const BufferId sum = sent.builder.buffer({kAllElements, Hop::kSum});
  sent.builder.after(sent.builder.add(Merge{{std::nullopt}, kAllElements, sum, false}), sent.decode);
  sent.builder.add(Send{1, sum, {0, 7}});
  CHECK_THAT(sent.error(), Contains("task 5 (send b2 to rank 1 as 0.7): a sum does not travel"));
  Sum received;
  received.builder.add(Recv{1, received.builder.buffer({kAllElements, Hop::kSum}), {0, 7}});
  CHECK_THAT(received.error(), Contains("task 4 (recv 0.7 from rank 1 into b2): a sum does not travel"));
}

TEST_CASE("validate: elements encoded twice, which would share what the codec keeps") {
  const auto [hop, sound] =
      GENERATE(values<std::pair<Hop, bool>>({{Hop::kFirst, false}, {Hop::kSecond, false}, {Hop::kRaw, true}}));
  Sum sum;
  sum.builder.after(sum.builder.add(Encode{{6, 2}, sum.builder.buffer({{6, 2}, hop})}), sum.decode);
  const std::string error = sum.error();
  CAPTURE(static_cast<int>(hop));
  check(error, sound, "task 0 encodes some of these elements too");
}

TEST_CASE("validate: elements merged twice; once encoded and once merged is sound") {
  const bool twice = GENERATE(false, true);
  Sum sum;
  for (int i = 0; i <= twice; ++i) {
    const BufferId to = sum.builder.buffer({kAllElements, i == 0 ? Hop::kFirst : Hop::kSecond});
    sum.builder.after(sum.builder.add(Merge{{sum.mine}, kAllElements, to, false}), sum.decode);
  }
  check(sum.error(), !twice, "task 4 merges some of these elements too");
}

TEST_CASE("validate: an order that goes in a circle") {
  Sum sum;
  sum.builder.after(sum.decode, sum.recv);
  CHECK_THAT(sum.error(), Contains("task 2 (recv") && Contains("circle"));
}

TEST_CASE("validate: elements decoded twice") {
  Sum sum;
  sum.builder.add(Decode{sum.merged, kAllElements});
  CHECK_THAT(sum.error(), Contains("another task decodes some of these elements too"));
}

TEST_CASE("validate: elements never decoded") {
  CHECK_THAT(Sum().error(9), Contains("no task decodes element 8 of 9"));
  CHECK_THAT(TaskGraph::Builder().build().validate(1, 1, 0).message(), Contains("no task decodes element 0 of 1"));
}

TEST_CASE("validate: elements decoded that another rank gets the result of") {
  TaskGraph::Builder builder;
  const BufferId mine = builder.buffer({kAllElements});
  builder.add(Encode{kAllElements, mine});
  builder.add(Decode{mine, kAllElements});
  CHECK_THAT(std::move(builder).build().validate(kAllElements.count, 2, 0, {0, 4}).message(),
             Contains("task 1 (decode") && Contains("this rank gets the result of elements [0, 4) alone"));
  CHECK_THAT(TaskGraph::Builder().build().validate(8, 2, 1, {4, 4}).message(),
             Contains("no task decodes element 4 of 8"));
}

TEST_CASE("validate: elements decoded while another task may still have to read them") {
  Sum sum;
  const BufferId late = sum.builder.buffer({{2, 2}, Hop::kRaw});
  sum.builder.add(Encode{{2, 2}, late});
  CHECK_THAT(sum.error(), Contains("does not wait for task 4 to read these elements"));
}

TEST_CASE("validate: elements decoded while a first-hop send may still read them in place") {
  Sum sum;
  sum.builder.add(Send{1, sum.mine, {0, 7}});
  CHECK_THAT(sum.error(), Contains("does not wait for task 4 to read these elements"));
}

TEST_CASE("validate: a sum, which takes the gradient's memory, waits for whoever reads the elements") {
  const bool waits = GENERATE(false, true);
  TaskGraph::Builder builder;
  const BufferId mine = builder.buffer({kAllElements}), sum = builder.buffer({kAllElements, Hop::kSum});
  builder.add(Encode{kAllElements, mine});
  const TaskId sent = builder.add(Send{1, mine, {0, 0}});
  const TaskId merged = builder.add(Merge{{mine}, kAllElements, sum, true});
  const TaskId decoded = builder.add(Decode{sum, kAllElements});
  builder.after(sent, waits ? merged : decoded);
  const std::string error = std::move(builder).build().validate(kAllElements.count, 2, 0).message();
  check(error, waits, "task 2 (merge b0 into b1, the last): does not wait for task 1 to read these elements");
}

TEST_CASE("validate: a result in the gradient's own type takes its memory, and may be sent from there") {
  const bool waits = GENERATE(false, true);
  TaskGraph::Builder builder;
  const BufferId mine = builder.buffer({kAllElements}), result = builder.buffer({kAllElements, Hop::kRaw});
  builder.add(Encode{kAllElements, mine});
  const TaskId sent = builder.add(Send{1, mine, {0, 0}});
  const TaskId merged = builder.add(Merge{{mine}, kAllElements, result, true});
  const TaskId passed_on = builder.add(Send{1, result, {0, 1}});
  const TaskId decoded = builder.add(Decode{result, kAllElements});
  builder.after(passed_on, decoded);
  builder.after(sent, waits ? merged : decoded);
  const std::string error = std::move(builder).build().validate(kAllElements.count, 2, 0).message();
  check(error, waits, "task 2 (merge b0 into b1, the last): does not wait for task 1 to read these elements");
}

TEST_CASE("validate: elements decoded while a send of raw elements may still read them in place") {
  TaskGraph::Builder builder;
  const BufferId mine = builder.buffer({kAllElements, Hop::kRaw}),
                 result = builder.buffer({kAllElements, Hop::kSecond});
  builder.add(Encode{kAllElements, mine});
  builder.add(Send{1, mine, {0, 0}});
  builder.add(Recv{1, result, {0, 1}});
  builder.after(TaskId{0}, builder.add(Decode{result, kAllElements}));
  CHECK_THAT(std::move(builder).build().validate(kAllElements.count, 2, 0).message(),
             Contains("does not wait for task 1 to read these elements"));
}

}  // namespace casync::test
