// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/plan/check.h"

#include <algorithm>
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
#include "tools/casync/codec_facts.h"
#include "tools/casync/input_files.h"
#include "tools/casync/planning/codec_shares.h"
#include "tools/casync/planning/kept_memory.h"
#include "tools/casync/print_json.h"
#include "tools/casync/scenario/scenario.h"
#include "tools/casync/scenario/session_check.h"

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

/// The fewest ranks, from two on, that have all nodes and servers of the plan: it says no number of them.
int least_ranks(const Plan& plan) {
  int least = std::max(2, plan.world.nodes.value_or(0));
  const auto look_at = [&](const Choice& choice) {
    if (choice.servers) least = std::max(least, choice.servers->count + (choice.servers->dedicated ? 1 : 0));
  };
  look_at(plan.defaults);
  for (const Rule& rule : plan.rules) look_at(rule.choice);
  for (const Entry& entry : plan.gradients) look_at(entry.choice);
  for (const GradientGroup& group : plan.groups) look_at(group.choice);
  return least;
}

std::string counted(std::size_t count, const char* one, const char* several) {
  return std::to_string(count) + " " + (count == 1 ? one : several);
}

/// A plan's decisions about the gradients of a model, and all that is to be said of them.
class DecidedModel {
 public:
  DecidedModel(const Plan& plan, std::string path, const Topology& topology)
      : plan_(plan), path_(std::move(path)), topology_(topology), kept_(plan.mode, topology.ranks) {}

  /// Decides its gradients. PlanError: the gradient that no session takes, or what the plan's mode rules out. Others as
  /// grouped.
  Status take(const Training& training, bool ranks_are_known) {
    Result<GroupedTraining> whole = grouped(plan_, training);
    if (!whole) return whole.status();
    std::vector<GradientSpec> gradients;
    std::vector<Decision> decisions;
    for (const TrainedGradient& gradient : whole->training.gradients) {
      const GradientSpec& spec = gradient.spec;
      const Result<Decision> decision = decision_of(spec);
      if (!decision) {
        return Status(decision.status().code(), "gradient `" + spec.name + "`: " + decision.status().message());
      }
      gradients.push_back(spec);
      decisions.push_back(in_own_type(*decision, spec.dtype));
    }
    Scenario scenario;
    scenario.topology = topology_;
    scenario.training = std::move(whole->training);
    scenario.decisions = std::move(decisions);
    scenario.mode = plan_.mode;
    scenario.facts_of = facts_of;
    CASYNC_RETURN_IF_ERROR(check_session(plan_, scenario, ranks_are_known));
    add_remarks(gradients, whole->absent);
    return Status::ok();
  }

  /// Null without gradients.
  const Json& gradients() const { return gradients_; }
  /// A line for each gradient.
  const std::string& lines() const { return lines_; }
  const std::vector<std::string>& remarks() const { return remarks_; }
  const CodecShares& shares() const { return shares_; }
  const KeptMemory& kept() const { return kept_; }

 private:
  Result<Decision> decision_of(const GradientSpec& spec) {
    Decision decision = decide(plan_, spec, topology_.ranks, payload_bits(facts_of));
    const CodecLimits limits = codec_limits(plan_, spec.name);
    if (limits.is_open) {
      ++left_open_;
      note(spec, text_of(limits), "left to the planner");
      return decision;
    }
    CASYNC_RETURN_IF_ERROR(check_servers(decision.servers, decision.strategy, topology_.ranks));
    const auto rounds = rounds_of(decision, spec, topology_.ranks, {}, facts_of);
    if (!rounds) return rounds.status();
    const Result<HopCosts> costs = hop_costs(in_own_type(decision, spec.dtype), spec.dtype, {}, facts_of);
    if (!costs) return costs.status();
    CASYNC_RETURN_IF_ERROR(kept_.add(decision, *rounds, spec));
    note(spec, casync::text_of(decision), codecs_of(decision));
    return decision;
  }

  void note(const GradientSpec& spec, const std::string& decided, const std::string& codecs) {
    lines_ += "  " + spec.name + "  " + decided + "\n";
    gradients_.push_back({{"name", spec.name}, {"decision", decided}});
    shares_.add(codecs, spec);
  }

  void add_remarks(const std::vector<GradientSpec>& gradients, const std::vector<std::string>& absent) {
    remarks_ = casync::remarks(plan_, gradients, topology_);
    for (const std::string& group : absent) remarks_.push_back("group `" + group + "` has none of these gradients");
    if (left_open_ == 0) return;
    remarks_.push_back(std::to_string(left_open_) + (left_open_ == 1 ? " gradient has" : " gradients have") +
                       " a codec that is left to the planner: no session takes this until `casync plan --plan " +
                       path_ + "` has chosen");
  }

  const Plan& plan_;
  const std::string path_;
  const Topology topology_;
  Json gradients_;
  std::string lines_;
  std::vector<std::string> remarks_;
  CodecShares shares_;
  KeptMemory kept_;
  int left_open_ = 0;
};

void print_check(const std::string& path, const Plan& plan, const DecidedModel& model, bool has_model) {
  const std::string groups = plan.groups.empty() ? "" : ", " + counted(plan.groups.size(), "group", "groups");
  std::printf("%s: %s, %s%s\n%s", path.c_str(), counted(plan.rules.size(), "rule", "rules").c_str(),
              counted(plan.gradients.size(), "entry", "entries").c_str(), groups.c_str(), model.lines().c_str());
  if (const std::string memory = model.kept().text(); !memory.empty()) std::printf("  %s\n", memory.c_str());
  const std::vector<std::string>& odd = model.remarks();
  for (const std::string& remark : odd) std::printf("  note: %s\n", remark.c_str());
  std::printf("%s%s%s\n", odd.empty() ? "OK" : counted(odd.size(), "note", "notes").c_str(), has_model ? ": " : "",
              model.shares().text().c_str());
}

Json check_json(const std::string& path, const Plan& plan, const DecidedModel& model, bool has_model) {
  Json json{
      {"plan", path}, {"rules", plan.rules.size()}, {"entries", plan.gradients.size()}, {"groups", plan.groups.size()}};
  if (!model.gradients().is_null()) json["gradients"] = model.gradients();
  json["remarks"] = model.remarks();
  if (!has_model) return json;
  json["codecs"] = model.shares().json();
  json["kept"] = model.kept().json();
  return json;
}

}  // namespace

Status check_plan(const std::string& path, const std::string& model, int ranks, int nodes, bool json) {
  const Result<Plan> plan = read_plan_input(path);
  if (!plan) return plan.status();
  const auto named = [&](const Status& status) { return Status(status.code(), path + ": " + status.message()); };
  const Status codecs = check_codecs(*plan);
  if (!codecs) return named(codecs);
  const bool ranks_are_known = ranks > 0 || plan->world.ranks;
  if (ranks == 0) ranks = plan->world.ranks.value_or(least_ranks(*plan));
  // On a cluster of fewer nodes a plan works, with a remark.
  if (nodes == 0) nodes = std::min(plan->world.nodes.value_or(ranks), ranks);
  if (const Status placed = check_nodes(ranks, nodes); !placed) return named(placed);
  const bool has_model = !model.empty();
  DecidedModel decided(*plan, path, place(ranks, nodes));
  if (has_model) {
    const Result<Training> training = read_model_input(model);
    if (!training) return training.status();
    const Status taken = decided.take(with_equal_shards(*training, ranks), ranks_are_known);
    if (!taken) return named(taken);
  }
  if (json) {
    print_json(check_json(path, *plan, decided, has_model));
  } else {
    print_check(path, *plan, decided, has_model);
  }
  return Status::ok();
}

}  // namespace casync::tools
