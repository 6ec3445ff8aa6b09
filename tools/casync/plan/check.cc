// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/plan/check.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "casync/planner/decide.h"
#include "casync/planner/plan_codecs.h"
#include "casync/planner/search/grouped.h"
#include "casync/planner/search/payload_bits.h"
#include "casync/planner/search/reasons.h"
#include "casync/planner/search/request.h"
#include "casync/simulator/outline.h"
#include "casync/simulator/rounds.h"
#include "casync/strategies/strategy.h"
#include "runtime/session/declarations.h"
#include "tools/casync/codec_facts.h"
#include "tools/casync/input_files.h"
#include "tools/casync/plan/mode_check.h"
#include "tools/casync/planning/codec_shares.h"
#include "tools/casync/planning/kept_memory.h"
#include "tools/casync/print_json.h"
#include "tools/casync/scenario/scenario.h"

namespace casync::tools {
namespace {

using Json = nlohmann::ordered_json;

Status check_codecs(const Plan& plan) {
  for (const PlannedCodec& codec : codecs_in(plan)) {
    const Result<CodecFacts> facts = facts_of(codec.choice);
    if (!facts) return Status(facts.status().code(), codec.where + ": " + facts.status().message());
  }
  return Status::ok();
}

/// Declares the gradients as a session does, but for codecs that are left to the planner. Errors as
/// runtime::declare_gradient.
Status check_declarations(Plan plan, const std::vector<GradientSpec>& gradients, const Topology& topology,
                          bool ranks_are_known) {
  if (!ranks_are_known && plan.mode.asynchronous) plan.mode.asynchronous->first = 1;  // of a job that may have more
  for (const GradientSpec& gradient : gradients) {
    const bool has_unknown_shards = gradient.scattered && !ranks_are_known;
    if (has_unknown_shards || codec_limits(plan, gradient.name).is_open) continue;
    CASYNC_RETURN_IF_ERROR(runtime::declare_gradient(plan, gradient, topology).status());
  }
  return Status::ok();
}

/// "left to the planner: max_error 0.02, one of int8, int4 (rule 1 `*`)"
std::string text_of(const CodecLimits& limits) {
  std::string text = "left to the planner: ";
  char number[48];
  if (limits.max_error) {
    std::snprintf(number, sizeof number, "max_error %.6g", *limits.max_error);
    text += number;
    if (!limits.allowed.empty()) text += ", ";
  }
  const char* before = "one of ";
  for (const CodecChoice& choice : limits.allowed) text += std::exchange(before, ", ") + casync::text_of(choice);
  return text + " (" + limits.by + ")";
}

std::string counted(std::size_t count, const char* one, const char* several) {
  return std::to_string(count) + " " + (count == 1 ? one : several);
}

}  // namespace

Status check_plan(const std::string& path, const std::string& model, int ranks, int nodes, bool json) {
  const Result<Plan> plan = read_plan_input(path);
  if (!plan) return plan.status();
  const auto named = [&](const Status& status) { return Status(status.code(), path + ": " + status.message()); };
  const Status codecs = check_codecs(*plan);
  if (!codecs) return named(codecs);
  const bool ranks_are_known = ranks > 0 || plan->world.ranks;
  if (ranks == 0) ranks = plan->world.ranks.value_or(2);
  if (nodes == 0) nodes = plan->world.nodes.value_or(ranks);
  if (nodes > ranks)
    return invalid_argument(path + ": " + std::to_string(nodes) + " nodes for " + std::to_string(ranks) + " ranks");
  Json report{{"plan", path},
              {"rules", plan->rules.size()},
              {"entries", plan->gradients.size()},
              {"groups", plan->groups.size()}};
  std::vector<std::string> odd;
  int left_open = 0;
  std::string lines;
  CodecShares shares;
  KeptMemory kept(plan->mode, ranks);
  if (!model.empty()) {
    const Result<Training> training = read_model_input(model);
    if (!training) return training.status();
    const Result<GroupedTraining> whole = grouped(*plan, *training);
    if (!whole) return named(whole.status());
    const Topology topology = place(ranks, nodes);
    Scenario scenario;
    scenario.topology = topology;
    scenario.training = whole->training;
    scenario.mode = plan->mode;
    scenario.facts_of = facts_of;
    std::vector<GradientSpec> gradients;
    for (const TrainedGradient& gradient : whole->training.gradients) {
      gradients.push_back(gradient.spec);
      Decision decision = decide(*plan, gradient.spec, ranks, payload_bits(facts_of));
      const CodecLimits limits = codec_limits(*plan, gradient.spec.name);
      if (limits.is_open) {
        const std::string open = text_of(limits);
        lines += "  " + gradient.spec.name + "  " + open + "\n";
        report["gradients"].push_back({{"name", gradient.spec.name}, {"decision", open}});
        ++left_open;
        shares.add("left to the planner", gradient.spec);
        scenario.decisions.push_back(in_own_type(decision, gradient.spec.dtype));
        continue;
      }
      const Status servers = check_servers(decision.servers, decision.strategy, ranks);
      if (!servers) return named(Status(servers.code(), "gradient `" + gradient.spec.name + "`: " + servers.message()));
      const auto rounds = rounds_of(decision, gradient.spec, ranks, {}, facts_of);
      if (!rounds)
        return named(
            Status(rounds.status().code(), "gradient `" + gradient.spec.name + "`: " + rounds.status().message()));
      const Result<HopCosts> costs =
          hop_costs(in_own_type(decision, gradient.spec.dtype), gradient.spec.dtype, {}, facts_of);
      if (!costs)
        return named(
            Status(costs.status().code(), "gradient `" + gradient.spec.name + "`: " + costs.status().message()));
      if (const Status memory = kept.add(decision, *rounds, gradient.spec); !memory) {
        return named(Status(memory.code(), "gradient `" + gradient.spec.name + "`: " + memory.message()));
      }
      scenario.decisions.push_back(in_own_type(decision, gradient.spec.dtype));
      lines += "  " + gradient.spec.name + "  " + text_of(decision) + "\n";
      shares.add(codecs_of(decision), gradient.spec);
      report["gradients"].push_back({{"name", gradient.spec.name}, {"decision", text_of(decision)}});
    }
    if (const Status able = check_mode(std::move(scenario), ranks_are_known); !able) return named(able);
    if (const Status able = check_declarations(*plan, gradients, topology, ranks_are_known); !able) return named(able);
    odd = remarks(*plan, gradients, topology);
    for (const std::string& group : whole->absent) odd.push_back("group `" + group + "` has none of these gradients");
    if (left_open > 0) {
      odd.push_back(std::to_string(left_open) + (left_open == 1 ? " gradient has" : " gradients have") +
                    " a codec that is left to the planner: no session takes this until `casync plan --plan " + path +
                    "` has chosen");
    }
  }
  report["remarks"] = odd;
  if (!model.empty()) {
    report["codecs"] = shares.json();
    report["kept"] = kept.json();
  }
  if (json) {
    print_json(report);
    return Status::ok();
  }
  const std::string groups = plan->groups.empty() ? "" : ", " + counted(plan->groups.size(), "group", "groups");
  std::printf("%s: %s, %s%s\n%s", path.c_str(), counted(plan->rules.size(), "rule", "rules").c_str(),
              counted(plan->gradients.size(), "entry", "entries").c_str(), groups.c_str(), lines.c_str());
  if (const std::string memory = kept.text(); !memory.empty()) std::printf("  %s\n", memory.c_str());
  for (const std::string& remark : odd) std::printf("  note: %s\n", remark.c_str());
  std::printf("%s%s%s\n", odd.empty() ? "OK" : counted(odd.size(), "note", "notes").c_str(), model.empty() ? "" : ": ",
              shares.text().c_str());
  return Status::ok();
}

}  // namespace casync::tools
