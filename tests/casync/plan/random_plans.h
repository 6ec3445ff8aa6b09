// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <random>
#include <string>

#include "base/codec_file.h"
#include "casync/model/plan.h"
#include "casync/strategies/strategy.h"

namespace casync {

/// Draws plans that use every field with odd values: empty ones, bounds, quotes, control and non-ASCII bytes.
class RandomPlans {
 public:
  explicit RandomPlans(unsigned seed) : random_(seed) {}

  Plan next() {
    Plan plan;
    local_ = maybe();
    plan.defaults = choice();
    for (unsigned i = below(4); i > 0; --i) plan.rules.push_back({text(), choice()});
    for (unsigned i = below(4); i > 0; --i) plan.gradients.push_back({text() + std::to_string(i), choice()});
    for (unsigned i = below(3); i > 0; --i) {
      const std::string number = std::to_string(i);
      GradientGroup group{"group " + text() + number, {}, choice()};
      for (unsigned g = 1 + below(3); g > 0; --g)
        group.gradients.push_back("of " + text() + std::to_string(10 * i + g));
      group.choice.max_error.reset();
      group.choice.allowed.clear();
      plan.groups.push_back(std::move(group));
    }
    if (maybe()) plan.world.ranks = 4 + static_cast<int>(below(1000));
    if (maybe()) plan.world.nodes = 1 + static_cast<int>(below(4));
    if (maybe()) plan.world.profile_digest = text();
    if (maybe()) plan.predicted = Prediction{0.1 * below(1000), 1.0 / 3 * below(9), 1e-9, 0, 1e300};
    if (maybe()) plan.fusion_bytes = below(1u << 30);
    plan.coordinated = maybe();
    if (!plan.coordinated && maybe()) plan.credit_bytes = below(1u << 30);
    if (local_) plan.mode = {.every = 1 + below(1'000'000'000), .from_step = below(1'000'000'001)};
    if (local_) plan.mode.neighbours = static_cast<Neighbours>(below(3));
    if (plan.mode.neighbours == Neighbours::kRing && maybe()) plan.mode.gamma = (1 + below(1000)) / 1000.0;
    if (!plan.mode.is_local() && maybe()) plan.mode.staleness = 1 + below(kMostStaleness);
    if (plan.mode == SyncMode{} && maybe()) {
      plan.mode.asynchronous = Asynchronous{.bound = std::nullopt, .first = 1 + below(1'000'000)};
      if (maybe()) plan.mode.asynchronous->bound = below(1'000'000'001);
    }
    if (maybe()) plan.seed = (std::uint64_t{random_()} << 32) | random_();
    return plan;
  }

 private:
  unsigned below(unsigned bound) { return static_cast<unsigned>(random_()) % bound; }
  bool maybe() { return below(2) == 0; }

  std::string text() {
    std::string out;
    for (unsigned i = 1 + below(12); i > 0; --i)
      out += maybe() ? static_cast<char>(below(256)) : "\"'\\*?.#{}"[below(9)];
    return out;
  }

  double number() {
    constexpr double kOdd[] = {0.0, -0.0, 0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -2.5};
    return maybe() ? kOdd[below(std::size(kOdd))] : std::uniform_real_distribution<double>(-1e6, 1e6)(random_);
  }

  CodecChoice codec() {
    CodecChoice codec{text(), {}};
    if (is_codec_file(codec.name)) codec.name.insert(0, 1, '/');  // relative ones are read as others
    for (unsigned i = below(3); i > 0; --i) codec.parameters.emplace_back(text() + std::to_string(i), number());
    return codec;
  }

  Choice choice() {
    Choice choice;
    if (maybe()) choice.codec = codec();
    if (maybe()) choice.second_hop = codec();
    if (maybe()) choice.strategy = strategies()[below(static_cast<unsigned>(strategies().size()))].kind;
    if (maybe()) choice.strategy = StrategyKind::kPs;
    if (maybe()) choice.partition_bytes = 1024 + below(1u << 30);
    if (maybe()) choice.partitions = 1 + static_cast<int>(below(65536));
    if (maybe()) choice.priority = static_cast<int>(random_());
    if (maybe()) choice.warm_up_steps = below(1'000'000'001);
    if (maybe() && choice.codec && !local_) choice.warm_up_from = WarmUpFrom{text(), number()};
    if (maybe() && choice.strategy == StrategyKind::kPs) {
      choice.servers = Servers{1 + static_cast<int>(below(3)), maybe()};  // the world has 4 ranks, if any
    }
    if (maybe()) choice.residual_memory = kResidualMemories[below(3)];
    if (maybe() && (choice.codec || !choice.second_hop)) choice.max_error = below(1001) / 1000.0;
    if (!choice.codec && !choice.second_hop) {
      for (unsigned i = below(3); i > 0; --i) choice.allowed.push_back(codec());
    }
    return choice;
  }

  std::mt19937 random_;
  bool local_ = false;  ///< settings that may not stand next to local SGD are left out
};

}  // namespace casync
