// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/scenario/prediction.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "casync/model/codec_choice.h"
#include "casync/strategies/strategy.h"
#include "tools/casync/formatted.h"
#include "tools/casync/scenario/scenario.h"

namespace casync::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kPredictedGradients = 8, kPredictedRanks = 16;

struct Part {
  const char* name;
  double StepParts::*seconds;
  const char* meaning;
};

constexpr Part kParts[] = {
    {"training", &StepParts::training_s, "backward and forward pass, alone"},
    {"encode", &StepParts::encode_s, "of a rank's codec work"},
    {"merge", &StepParts::merge_s, ""},
    {"decode", &StepParts::decode_s, ""},
    {"copies", &StepParts::copies_s, "of payloads, to a GPU and from it"},
    {"tasks", &StepParts::tasks_s, "queues and bookkeeping of each"},
    {"wire", &StepParts::wire_s, "a rank's messages at sending ports"},
    {"messages", &StepParts::messages_s, "its processors send and receive"},
    {"waiting", &StepParts::waiting_s, "the forward pass stands still for a gradient"},
    {"exposed", &StepParts::exposed_s, "the step beyond its training"},
};

const char* name_of(SimulatedBy by) {
  switch (by) {
    case SimulatedBy::kAllRanks: return "all ranks";
    case SimulatedBy::kSymmetricRanks: return "symmetric ranks";
    case SimulatedBy::kOneRank: break;
  }
  return "one rank";
}

/// The gradients by waiting time, longest first.
std::vector<std::size_t> by_waiting(const Simulation& simulation) {
  std::vector<std::size_t> order(simulation.gradients.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return simulation.gradients[a].waiting_s > simulation.gradients[b].waiting_s;
  });
  return order;
}

/// A line for each rank where ranks drift apart; of many ranks only the slowest and the fastest.
std::string paces_text(const std::vector<RankPace>& ranks) {
  if (ranks.empty()) return "";
  const auto slower = [&](std::size_t a, std::size_t b) { return ranks[a].step_s > ranks[b].step_s; };
  std::vector<std::size_t> order(ranks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (ranks.size() > kPredictedRanks) {
    std::stable_sort(order.begin(), order.end(), slower);
    order.erase(order.begin() + kPredictedRanks / 2, order.end() - kPredictedRanks / 2);
  }
  std::string text = "ranks:      a step of it   steps ahead of the slowest: mean, most\n";
  for (const std::size_t rank : order) {
    const RankPace& pace = ranks[rank];
    text += formatted("  %5zu  %12.3f ms  %27.1f %5lld\n", rank, pace.step_s * 1e3, pace.mean_ahead,
                      static_cast<long long>(pace.most_ahead));
  }
  return text;
}

}  // namespace

std::string prediction_text(const Scenario& scenario, const Simulation& simulation) {
  const Training& training = scenario.training;
  std::string text = text_of_setting(training, scenario.topology, scenario.profile) + "\n";
  const auto percent_of_step = [&](double seconds) {
    return simulation.step_s > 0 ? 100 * seconds / simulation.step_s : 0;  // a description may take no time
  };
  text += formatted("  %-9s %12.3f ms\n", "step", simulation.step_s * 1e3);
  for (const Part& part : kParts) {
    const double seconds = simulation.parts.*part.seconds;
    if (part.seconds == &StepParts::copies_s && scenario.profile.upload.empty()) continue;
    const bool said = *part.meaning != '\0';
    text += formatted("  %-9s %12.3f ms  %5.1f %%", part.name, seconds * 1e3, percent_of_step(seconds)) +
            (said ? std::string("  ") + part.meaning : "") + "\n";
  }
  text += formatted("  %.3f MB in %.0f messages sent by a rank; scaling efficiency %.1f %%\n",
                    simulation.wire_bytes_per_rank / 1e6, simulation.messages_per_rank,
                    percent_of_step(simulation.parts.training_s));
  if (simulation.by == SimulatedBy::kOneRank) text += "  one rank stands for all: this is an approximation\n";
  text += paces_text(simulation.ranks);
  const std::vector<std::size_t> order = by_waiting(simulation);
  const char* head = "waited for most:\n";
  for (std::size_t i = 0; i < std::min(order.size(), kPredictedGradients); ++i) {
    const GradientTimes& times = simulation.gradients[order[i]];
    if (times.waiting_s <= 0) break;
    const Decision& decision = scenario.decisions[order[i]];
    text += std::exchange(head, "") + formatted("  %9.3f ms of %9.3f ms  ", times.waiting_s * 1e3, times.sync_s * 1e3) +
            training.gradients[order[i]].spec.name + "  " + text_of(decision.codec) + ", " +
            std::string(name_of(decision.strategy)) +
            (decision.servers.count > 0 ? " with " + text_of(decision.servers) : "") + ", " +
            std::to_string(decision.partitions) + (decision.partitions == 1 ? " partition\n" : " partitions\n");
  }
  return text;
}

Json prediction_json(const Scenario& scenario, const Simulation& simulation) {
  Json json{{"model", scenario.training.name},  {"profile", scenario.profile.name},
            {"ranks", scenario.topology.ranks}, {"nodes", scenario.topology.nodes()},
            {"by", name_of(simulation.by)},     {"step_ms", simulation.step_s * 1e3}};
  for (const Part& part : kParts) json[std::string(part.name) + "_ms"] = simulation.parts.*part.seconds * 1e3;
  json["wire_bytes_per_rank"] = simulation.wire_bytes_per_rank;
  json["messages_per_rank"] = simulation.messages_per_rank;
  json["tasks"] = simulation.tasks;
  for (const RankPace& pace : simulation.ranks) {
    json["rank_paces"].push_back({{"step_ms", pace.step_s * 1e3},
                                  {"steps", pace.steps},
                                  {"mean_ahead", pace.mean_ahead},
                                  {"most_ahead", pace.most_ahead}});
  }
  json["gradients"] = Json::array();
  for (std::size_t g = 0; g < simulation.gradients.size(); ++g) {
    const Decision& decision = scenario.decisions[g];
    json["gradients"].push_back({{"name", scenario.training.gradients[g].spec.name},
                                 {"elements", scenario.training.gradients[g].spec.elements()},
                                 {"codec", text_of(decision.codec)},
                                 {"second_hop", text_of(decision.second_hop)},
                                 {"strategy", name_of(decision.strategy)},
                                 {"servers", decision.servers.count},
                                 {"dedicated", decision.servers.dedicated},
                                 {"partitions", decision.partitions},
                                 {"sync_ms", simulation.gradients[g].sync_s * 1e3},
                                 {"waiting_ms", simulation.gradients[g].waiting_s * 1e3}});
  }
  return json;
}

}  // namespace casync::tools
