// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/ready_sends.h"

#include <catch2/catch.hpp>

#include "base/allocation_count.h"
#include "tests/runtime/executor/one_rank.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

std::vector<Rank> listed(const ReadySends& sends) { return {sends.listed().begin(), sends.listed().end()}; }

}  // namespace

TEST_CASE("ready sends: a peer's sends leave by urgency, and the peer is listed once") {
  const auto run = test::make_weight("weight", 2, 0);
  ReadySends sends(3);
  CHECK(sends.is_empty(2));
  sends.push(2, {run.get(), TaskId{0}, 5, 0, 0});
  sends.push(2, {run.get(), TaskId{0}, 1, 0, 1});
  sends.push(1, {run.get(), TaskId{0}, 0, 0, 2});
  CHECK(listed(sends) == std::vector<Rank>{2, 1});
  CHECK(sends.top(2).arrival == 1);
  std::size_t visited = 0;
  sends.for_each(2, [&](const ReadyTask&) { ++visited; });
  CHECK(visited == 2);
  CHECK(sends.pop(2).arrival == 1);
  CHECK(sends.pop(2).arrival == 0);
  CHECK(sends.is_empty(2));
  CHECK_FALSE(sends.is_empty(1));
}

TEST_CASE("ready sends: a peer stays listed as long as it is kept, and may come back") {
  ReadySends sends(4);
  for (const Rank peer : {3, 1, 2, 3}) sends.list(peer);
  std::vector<Rank> asked;
  sends.keep_listed([&](Rank peer) {
    asked.push_back(peer);
    return peer != 1;
  });
  CHECK(asked == std::vector<Rank>{3, 1, 2});
  CHECK(listed(sends) == std::vector<Rank>{3, 2});
  sends.list(3);
  sends.list(1);
  CHECK(listed(sends) == std::vector<Rank>{3, 2, 1});
}

TEST_CASE("ready sends: room for the sends of all runs is made once") {
  const auto run = test::make_weight("weight", 2, 0);
  GradientRun* const runs[] = {run.get(), run.get()};
  ReadySends sends(2);
  sends.reserve(runs);
  const std::uint64_t before = allocations_of_this_thread();
  for (std::uint32_t t = 0; t < run->graph.tasks().size(); ++t) {
    const auto* const send = std::get_if<Send>(&run->graph.tasks()[t]);
    for (int twice = 0; send != nullptr && twice < 2; ++twice) sends.push(send->to, {run.get(), TaskId{t}});
  }
  const std::uint64_t allocated = allocations_of_this_thread() - before;
  CHECK(allocated == 0);
  CHECK_FALSE(sends.is_empty(1));
}

TEST_CASE("ready sends: sends of a dissolved bundle are dropped") {
  const auto one = test::make_weight("one", 2, 0), other = test::make_weight("other", 2, 0);
  GradientRun* const members[] = {one.get(), other.get()};
  GradientRun bundle{std::span<GradientRun* const>(members)};
  ReadySends sends(2);
  sends.push(1, {&bundle, TaskId{0}, 0, 0, 0});
  sends.push(1, {one.get(), TaskId{0}, 1, 0, 1});
  CHECK_FALSE(sends.is_empty(1));
  CHECK(sends.top(1).run == one.get());
}
