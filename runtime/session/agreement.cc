// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/agreement.h"

#include <fmt/format.h>

#include "base/codec_file.h"
#include "casync/strategies/strategy.h"
#include "compll/codec/codec.h"

namespace casync::runtime {
namespace {

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += (text.empty() ? "" : " x ") + std::to_string(extent);
  return text;
}

std::string text_of(const std::vector<CodecChoice>& codecs) {
  std::string text;
  for (const CodecChoice& codec : codecs) text += (text.empty() ? "" : ", ") + identity_of(codec);
  return text;
}

std::string text_of(const WarmUpFrom& from) { return fmt::format("{} {}", from.parameter, from.value); }

void add_choice(const std::string& name, const Choice& choice, Facts& facts) {
  if (choice.codec) facts.emplace_back(name + " codec", identity_of(*choice.codec));
  if (choice.second_hop) facts.emplace_back(name + " second_hop", identity_of(*choice.second_hop));
  if (choice.strategy) facts.emplace_back(name + " strategy", std::string(name_of(*choice.strategy)));
  if (choice.partition_bytes) facts.emplace_back(name + " partition_bytes", std::to_string(*choice.partition_bytes));
  if (choice.partitions) facts.emplace_back(name + " partitions", std::to_string(*choice.partitions));
  if (choice.priority) facts.emplace_back(name + " priority", std::to_string(*choice.priority));
  if (choice.warm_up_steps) facts.emplace_back(name + " warm_up_steps", std::to_string(*choice.warm_up_steps));
  if (choice.warm_up_from) facts.emplace_back(name + " warm_up_from", text_of(*choice.warm_up_from));
  if (choice.servers) facts.emplace_back(name + " servers", text_of(*choice.servers));
  if (choice.residual_memory) facts.emplace_back(name + " residual_memory", name_of(*choice.residual_memory));
  if (choice.max_error) facts.emplace_back(name + " max_error", std::to_string(*choice.max_error));
  if (!choice.allowed.empty()) facts.emplace_back(name + " allow", text_of(choice.allowed));
}

}  // namespace

std::string identity_of(const CodecChoice& choice) {
  if (!is_codec_file(choice.name)) return text_of(choice);
  const Result<std::unique_ptr<compll::Codec>> codec = compll::make_codec(choice.name, choice.parameters);
  if (!codec) return text_of(choice) + " (" + codec.status().message() + ")";
  const compll::CodecInfo& info = (*codec)->info();
  return text_of(CodecChoice{info.name + " (program " + compll::text_of_digest(info.digest) + ")", choice.parameters});
}

std::string text_of(const Decision& decision) {
  std::string text = identity_of(decision.codec);
  if (!(decision.second_hop == decision.codec)) text += " / " + identity_of(decision.second_hop);
  text += ", " + std::string(name_of(decision.strategy));
  if (decision.servers.count > 0) text += " with " + text_of(decision.servers);
  return text + ", " + std::to_string(decision.partitions) + " partitions, priority " +
         std::to_string(decision.priority) +
         (decision.warm_up_steps > 0 ? ", " + std::to_string(decision.warm_up_steps) + " warm-up steps" : "") +
         (decision.warm_up_from ? " from " + text_of(*decision.warm_up_from) : "") +
         (decision.residual_memory == ResidualMemory::kTwoBuffers
              ? ""
              : ", " + std::string(name_of(decision.residual_memory)));
}

std::string text_of(const GradientSpec& gradient, const Decision& decision) {
  std::string members;
  for (const GroupMember& member : gradient.members) {
    members += (members.empty() ? " of " : ", ") + member.name + " [" + text_of(member.shape) + "]";
  }
  return std::string(name_of(gradient.dtype)) + " [" + text_of(gradient.shape) + "]" + members +
         (gradient.scattered ? ", scattered, " : ", ") + text_of(decision);
}

Facts facts_of(const Plan& plan) {
  Facts facts;
  add_choice("plan: default", plan.defaults, facts);
  for (std::size_t i = 0; i < plan.rules.size(); ++i) {
    const std::string name = "plan: rule " + std::to_string(i + 1);
    facts.emplace_back(name + " match", plan.rules[i].match);
    add_choice(name, plan.rules[i].choice, facts);
  }
  for (std::size_t i = 0; i < plan.gradients.size(); ++i) {
    const Entry& entry = plan.gradients[i];
    facts.emplace_back("plan: gradient " + std::to_string(i + 1), entry.name);
    add_choice("plan: gradient " + entry.name, entry.choice, facts);
  }
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const GradientGroup& group = plan.groups[i];
    facts.emplace_back("plan: group " + std::to_string(i + 1), group.name);
    std::string members;
    for (const std::string& name : group.gradients) members += (members.empty() ? "" : ", ") + name;
    facts.emplace_back("plan: group " + group.name + " gradients", members);
    add_choice("plan: group " + group.name, group.choice, facts);
  }
  facts.emplace_back("plan: fusion_bytes", std::to_string(plan.fusion_bytes));
  facts.emplace_back("plan: coordinated", plan.coordinated ? "true" : "false");
  facts.emplace_back("plan: credit_bytes", std::to_string(plan.credit_bytes));
  facts.emplace_back("plan: seed", std::to_string(plan.seed));
  const std::string mode = plan.mode.is_gossip() ? "plan: gossip" : "plan: local_sgd";
  if (plan.mode.is_gossip()) {
    facts.emplace_back(mode + " neighbours", plan.mode.neighbours == Neighbours::kRing ? "ring" : "pairs");
    facts.emplace_back(mode + " gamma", fmt::format("{}", plan.mode.gamma));
  }
  facts.emplace_back(mode + " every", std::to_string(plan.mode.every));
  facts.emplace_back(mode + " from_step", std::to_string(plan.mode.from_step));
  facts.emplace_back("plan: staleness", std::to_string(plan.mode.staleness));
  if (plan.mode.is_asynchronous()) {
    const Asynchronous& asynchronous = *plan.mode.asynchronous;
    facts.emplace_back("plan: asynchronous bound", asynchronous.bound ? std::to_string(*asynchronous.bound) : "none");
    facts.emplace_back("plan: asynchronous first", std::to_string(asynchronous.first));
  }
  return facts;
}

Facts facts_of(const Pulse& pulse) {
  return {{"CASYNC_HEARTBEAT_SEC", fmt::format("{}", pulse.beat.count())},
          {"CASYNC_DEAD_SEC", fmt::format("{}", pulse.dead.count())}};
}

}  // namespace casync::runtime
