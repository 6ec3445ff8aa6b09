// SPDX-License-Identifier: Apache-2.0
//
// MG-WFBP's groups, compared with every other way to merge neighbours.
#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <random>

#include "casync/patterns/partition_count.h"
#include "casync/planner/decide.h"
#include "casync/planner/group_faults.h"
#include "casync/planner/search/grouped.h"
#include "casync/planner/search/methods.h"
#include "casync/planner/search/payload_bits.h"
#include "tests/casync/planner/requests.h"
#include "tests/casync/simulator/scenarios.h"

namespace casync {
namespace {

using namespace test;

/// The groups in which message i + 1 joins message i where bit i is set; empty if one may not.
std::vector<std::size_t> groups_of(std::span<const ReadyMessage> messages, std::uint32_t joins) {
  std::vector<std::size_t> groups{0};
  for (std::size_t i = 1; i < messages.size(); ++i) {
    const bool joined = (joins >> (i - 1) & 1) != 0;
    if (joined && !messages[i].may_join) return {};
    if (!joined) groups.push_back(i);
  }
  return groups;
}

double earliest_end(std::span<const ReadyMessage> messages, const ChannelCost& cost) {
  double earliest = std::numeric_limits<double>::infinity();
  for (std::uint32_t joins = 0; joins < 1u << (messages.size() - 1); ++joins) {
    const std::vector<std::size_t> groups = groups_of(messages, joins);
    if (!groups.empty()) earliest = std::min(earliest, end_of_groups(messages, groups, cost));
  }
  return earliest;
}

}  // namespace

TEST_CASE("merging: no way to merge neighbours ends earlier than the best, and MG-WFBP's is mostly as early") {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> part(0, 1);
  std::size_t merged = 0, groups_in_all = 0, as_early = 0;
  for (int round = 0; round < 300; ++round) {
    const std::size_t count = 1 + random() % 10;
    const ChannelCost cost{part(random) * (round % 3 == 0 ? 0.1 : 1), part(random) * 1e-3};
    std::vector<ReadyMessage> messages;
    double ready = 0;
    for (std::size_t i = 0; i < count; ++i) {
      ready += random() % 4 == 0 ? 0 : part(random) * 0.5;
      messages.push_back({ready, part(random) * 500, random() % 8 != 0});
    }
    const std::vector<std::size_t> groups = merged_groups(messages, cost);
    CAPTURE(round, count, cost.startup_s, cost.byte_s);
    const double earliest = earliest_end(messages, cost) * (1 + 1e-12);
    CHECK(end_of_groups(messages, best_groups(messages, cost), cost) <= earliest);
    const double end = end_of_groups(messages, groups, cost);
    as_early += end <= earliest ? 1 : 0;
    CHECK(end <= 1.5 * earliest);
    CHECK((groups.front() == 0 && std::is_sorted(groups.begin(), groups.end()) && groups.back() < count));
    merged += count - groups.size();
    groups_in_all += groups.size();
  }
  CHECK(merged > 300);  // the rule says both yes and no
  CHECK(groups_in_all > 600);
  CHECK(as_early > 150);  // of 300
}

TEST_CASE("merging: a message joins if it is ready by the end of the startup of the previous one") {
  const ChannelCost cost{1, 0.1};
  const std::vector<ReadyMessage> close{{0, 10}, {0.9, 10}, {4.5, 10}};
  CHECK(merged_groups(close, cost) == std::vector<std::size_t>{0, 2});
  CHECK(end_of_groups(close, merged_groups(close, cost), cost) == Approx(4.5 + 2));
  const std::vector<ReadyMessage> apart{{0, 10}, {1, 10}, {4.5, 10, false}};
  CHECK(merged_groups(apart, cost) == std::vector<std::size_t>{0, 1, 2});
  CHECK(merged_groups({}, cost).empty());
  CHECK(best_groups({}, cost).empty());
  // A pair at a time, all three join, although the first could be over by the time that the third is ready.
  const std::vector<ReadyMessage> chain{{0, 10}, {0.9, 10}, {1.8, 10}};
  CHECK(merged_groups(chain, cost) == std::vector<std::size_t>{0});
  CHECK(best_groups(chain, cost) == std::vector<std::size_t>{0, 1});
}

TEST_CASE("merging: the simulator agrees where a port is the channel and has nothing else to do") {
  PlanRequest one = request(2, 1, ideal(1e-9), 8);
  one.profile.between.message_s = one.profile.inside.message_s = 1e-4;
  one.training.forward_s = 0;
  for (TrainedGradient& gradient : one.training.gradients) gradient.need_s = 0;
  const auto step = [&](const MergedGradients& merged) {
    Scenario scenario;
    scenario.topology = one.topology;
    scenario.profile = one.profile;
    scenario.facts_of = one.facts_of;
    scenario.training = merged_training(one.training, merged);
    scenario.decisions.assign(merged.groups.size(), {{}, {}, StrategyKind::kRing, 2, 0});
    return simulated(scenario).step_s;
  };
  const std::vector<ReadyMessage> any(one.training.gradients.size());
  for (const double backward_s : {0.02, 0.005, 0.0005}) {
    for (std::size_t g = 0; g < one.training.gradients.size(); ++g) {
      one.training.gradients[g].ready_s *= backward_s / one.training.backward_s;
    }
    one.training.backward_s = backward_s;
    const Result<MergedGradients> merged = merged_gradients(one, StrategyKind::kRing, Merging::kBest);
    REQUIRE(merged.status().text() == "OK");
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t joins = 0; joins < 1u << (any.size() - 1); ++joins) {
      least = std::min(least, step({merged->order, groups_of(any, joins)}));
    }
    CAPTURE(backward_s, merged->groups.size());
    CHECK(step(*merged) <= least * 1.002);  // partitions of odd sizes
  }
}

TEST_CASE("merging: groups keep all elements, wait for their last gradient, and have one type each") {
  PlanRequest mixed = request(4, 1, awkward());
  for (std::size_t g = 0; g < mixed.training.gradients.size(); g += 5) {
    mixed.training.gradients[g].spec.dtype = DType::kBFloat16;
  }
  mixed.profile.between.latency_s = 1;  // all that may join does
  const Merging rule = GENERATE(Merging::kMgWfbp, Merging::kBest);
  const Result<MergedGradients> merged = merged_gradients(mixed, StrategyKind::kPs, rule);
  REQUIRE(merged.status().text() == "OK");
  const Training made = merged_training(mixed.training, *merged);
  REQUIRE(made.gradients.size() == merged->groups.size());
  Elements before = 0, after = 0;
  for (const TrainedGradient& gradient : mixed.training.gradients) before += gradient.spec.elements();
  for (const TrainedGradient& gradient : made.gradients) after += gradient.spec.elements();
  CHECK(before == after);
  CHECK(made.gradients.size() >= 5);  // types alternate, which nothing merges over
  CHECK(made.gradients.size() < mixed.training.gradients.size());
  for (std::size_t i = 0; i < merged->order.size(); ++i) {
    const auto group = std::upper_bound(merged->groups.begin(), merged->groups.end(), i) - merged->groups.begin() - 1;
    const TrainedGradient& whole = made.gradients[static_cast<std::size_t>(group)];
    const TrainedGradient& own = mixed.training.gradients[merged->order[i]];
    CHECK(whole.spec.dtype == own.spec.dtype);
    CHECK(whole.ready_s >= own.ready_s);
    CHECK(whole.need_s <= own.need_s);
  }
}

TEST_CASE("credit: the pair that is found is the best of all that are tried") {
  for (const PlanRequest& one : {request(4, 1, slow_network()), request(3, 3, awkward())}) {
    for (const StrategyKind strategy : {StrategyKind::kPs, StrategyKind::kRing}) {
      const Result<std::optional<CreditSetting>> found = best_credit(one, strategy);
      REQUIRE(found.status().text() == "OK");
      REQUIRE(found->has_value());
      double least = std::numeric_limits<double>::infinity();
      Scenario scenario{one.topology, one.profile, one.training, {}, 0, {}, one.facts_of};
      for (const Bytes bytes : credit_partition_bytes()) {
        scenario.decisions.clear();
        for (const TrainedGradient& gradient : one.training.gradients) {
          const int partitions = choose_partitions(gradient.spec.bytes(), one.topology.ranks, bytes);
          scenario.decisions.push_back({{}, {}, strategy, partitions, gradient.spec.priority});
        }
        for (const int partitions : credit_partitions()) {
          scenario.credit_bytes = bytes * static_cast<Bytes>(partitions);
          const double step_s = simulated(scenario).step_s;
          least = std::min(least, step_s);
          const bool is_found = bytes == (*found)->partition_bytes && scenario.credit_bytes == (*found)->credit_bytes;
          if (is_found) CHECK(step_s == (*found)->step_s);
        }
      }
      CHECK((*found)->step_s == least);
    }
  }
}

TEST_CASE("credit: a link with a long way asks for more than one partition, one without for no more") {
  PlanRequest far = request(2, 1, ideal(1e-9), 1);
  far.training.gradients[0].spec.shape = {64 << 18};  // 64 MiB, and nothing else to do
  far.training.backward_s = far.training.forward_s = far.training.gradients[0].ready_s = 0;
  far.training.gradients[0].need_s = 0;
  const auto credit = [&] {
    const Result<std::optional<CreditSetting>> found = best_credit(far, StrategyKind::kPs);
    REQUIRE(found.status().text() == "OK");
    REQUIRE(found->has_value());
    return (*found)->credit_bytes / (*found)->partition_bytes;
  };
  CHECK(credit() == 1);
  far.profile.between.latency_s = 5e-3;  // 5 MiB
  CHECK(credit() > 1);
}

TEST_CASE("methods: the plan of each says what was simulated") {
  const SyncMode mode = GENERATE(SyncMode{}, SyncMode{.every = 4}, SyncMode{.staleness = 1});
  for (PlanRequest one :
       {request(4, 1, slow_network()), request(3, 3, awkward()), transformer(4, 2, slow_network(), 60)}) {
    one.mode = mode;
    one.training.gradients[1].spec.name = "group 1";  // the name that a group would have had
    if (one.topology.ranks == 4) one.training.gradients[2].spec.dtype = DType::kBFloat16;
    const Result<std::vector<PublishedMethod>> methods = published_methods(one);
    REQUIRE(methods.status().text() == "OK");
    REQUIRE(methods->size() >= 4);
    for (const PublishedMethod& method : *methods) {
      CAPTURE(method.name, one.topology.ranks, mode.every, mode.staleness);
      CHECK(method.plan.mode == mode);
      const Result<GroupedTraining> whole = grouped(method.plan, one.training);
      REQUIRE(whole.status().text() == "OK");
      CHECK(whole->absent.empty());
      CHECK(faults_of_groups(method.plan).empty());
      Scenario scenario{one.topology, one.profile, whole->training, {}, method.plan.fusion_bytes, mode, one.facts_of};
      scenario.credit_bytes = method.plan.credit_bytes;
      for (const TrainedGradient& gradient : whole->training.gradients) {
        scenario.decisions.push_back(in_own_type(
            decide(method.plan, gradient.spec, one.topology.ranks, payload_bits(one.facts_of)), gradient.spec.dtype));
      }
      CHECK(simulated(scenario).step_s == method.step_s);
    }
  }
}

TEST_CASE("groups: a training's gradients join as the plan says") {
  Training training;
  for (const char* name : {"a", "b", "c", "d"}) {
    const double at = name[0] - 'a';
    training.gradients.push_back({{name, DType::kFloat32, {2, 3}, static_cast<int>(at)}, 1 - at / 10, at});
  }
  Plan plan;
  plan.groups = {{"late", {"d", "b", "nobody"}, {}}, {"none", {"x"}, {}}};
  const Result<GroupedTraining> made = grouped(plan, training);
  REQUIRE(made.status().text() == "OK");
  CHECK(made->absent == std::vector<std::string>{"none"});
  const auto& gradients = made->training.gradients;
  REQUIRE(gradients.size() == 3);
  CHECK(gradients[0].spec.name == "c");
  CHECK(gradients[1].spec.name == "late");
  CHECK(gradients[1].spec.members == std::vector<GroupMember>{{"d", {2, 3}}, {"b", {2, 3}}});
  CHECK(gradients[1].spec.elements() == 12);
  CHECK(gradients[1].ready_s == training.gradients[1].ready_s);
  CHECK(gradients[1].need_s == training.gradients[1].need_s);
  CHECK(gradients[1].spec.priority == 1);
  CHECK(gradients[2].spec.name == "a");
  training.gradients[3].spec.dtype = DType::kFloat16;
  CHECK(grouped(plan, training).status().text() ==
        "PlanError: group `late`: `b` is float32, and `d` is float16: a group has one type");
  plan.groups = {{"a", {"b"}, {}}};
  CHECK(grouped(plan, training).status().text() == "PlanError: group `a` has the name of a gradient: rename the group");
}

TEST_CASE("methods: each over both strategies, with what it chose, and none where nothing is exchanged") {
  const Result<std::vector<PublishedMethod>> methods = published_methods(request(4, 1, slow_network()));
  REQUIRE(methods.status().text() == "OK");
  REQUIRE(methods->size() == 6);
  CHECK((*methods)[0].name == "MG-WFBP's groups, ps");
  CHECK((*methods)[0].detail.ends_with(" groups of 12 gradients"));
  CHECK((*methods)[4].name == "best groups of neighbours, ring");
  CHECK((*methods)[5].name == "ByteScheduler with a credit, ring");
  CHECK((*methods)[5].detail.find("a credit of") != std::string::npos);
  for (const PublishedMethod& method : *methods) CHECK(method.step_s >= 0.03 * (1 - 1e-9));
  CHECK(published_methods(request(1, 1, slow_network()))->empty());
  CHECK(published_methods(request(4, 1, slow_network(), 0))->empty());
  // A few hundred gradients of thousands of ranks: too many messages for a credit, and groups by one rank for all.
  const Result<std::vector<PublishedMethod>> large = published_methods(transformer(4096, 8, slow_network()));
  REQUIRE(large.status().text() == "OK");
  for (const PublishedMethod& method : *large) CHECK(method.name.find("groups") != std::string::npos);
  CHECK(large->size() == 4);
}

}  // namespace casync
