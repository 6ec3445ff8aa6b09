// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/plan_module/plan_io.h"

#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "base/codec_file.h"
#include "casync/planner/group_faults.h"
#include "casync/planner/plan_module/read_mode.h"
#include "casync/planner/server_faults.h"
#include "casync/strategies/strategy.h"
#include "proto/checked_numbers.h"
#include "proto/placed.h"
#include "proto/plan.pb.h"
#include "proto/text_diagnostics.h"
#include "proto/text_reader.h"

namespace casync {
namespace {

namespace wire = plan::v1;
using proto::checked;
using proto::Placed;
using proto::required;

constexpr std::int64_t kLeastPartitionBytes = 1024;
constexpr std::int64_t kMostPartitions = 65536;
constexpr std::int64_t kMostServers = 65536;

/// Returns true if `param` has a key and a finite value; else refuses it.
bool is_complete(const Placed<wire::Param>& param) {
  if (param->key().empty()) {
    param.refuse("a param without a key, expected key: \"NAME\"");
    return false;
  }
  const std::string name = proto::quoted(param->key());
  if (!param->has_value()) {
    param.refuse("param " + name + " without a value, expected value: NUMBER");
  } else if (!std::isfinite(param->value())) {
    param.refuse(wire::Param::kValueFieldNumber, "param " + name + " is not finite, expected a finite number");
  }
  return param->has_value() && std::isfinite(param->value());
}

void read_param(const Placed<wire::Param>& param, std::set<std::string_view>* keys, CodecChoice* choice) {
  if (!is_complete(param)) return;
  if (!keys->insert(param->key()).second) {
    return param.refuse("param " + proto::quoted(param->key()) + " a second time, expected once");
  }
  choice->parameters.emplace_back(param->key(), param->value());
}

/// Reads the codec's name, or its file as a path that is_codec_file knows.
std::string read_codec_name(const Placed<wire::Codec>& codec) {
  const std::string &name = codec->name(), &file = codec->file();
  if (!file.empty() && !name.empty()) {
    codec.refuse(wire::Codec::kFileFieldNumber,
                 "a codec with name " + proto::quoted(name) + " and a file, expected one of the two");
  } else if (file.empty() && name.empty()) {
    codec.refuse("a codec without a name, expected name: \"NAME\" (\"none\" is one) or file: \"PATH\"");
  } else if (is_codec_file(name)) {
    codec.refuse(wire::Codec::kNameFieldNumber,
                 "codec name " + proto::quoted(name) + " is a path, expected file: \"PATH\" for a codec's file");
  }
  return file.empty() || is_codec_file(file) ? name + file : "./" + file;
}

CodecChoice read_codec(const Placed<wire::Codec>& codec) {
  CodecChoice choice{read_codec_name(codec), {}};
  std::set<std::string_view> keys;
  for (int i = 0; i < codec->param_size(); ++i) {
    read_param(codec.inner(codec->param(i), wire::Codec::kParamFieldNumber, i), &keys, &choice);
  }
  return choice;
}

template <class Message>
std::optional<StrategyKind> read_strategy(const Placed<Message>& from) {
  constexpr int kNumber = Message::kStrategyFieldNumber;
  if (!from->has_strategy()) return std::nullopt;
  const std::string expected = ", expected " + strategy_names();
  if (from.written_as_number(kNumber)) {
    from.refuse(kNumber, "strategy " + std::to_string(from->strategy()) + expected + " (by name)");
    return std::nullopt;
  }
  for (const Strategy& strategy : strategies()) {
    if (wire::Strategy_Name(from->strategy()) == strategy.name) return strategy.kind;
  }
  from.refuse(kNumber, std::string("strategy `STRATEGY_UNSPECIFIED`") + expected + " (leave it out to say nothing)");
  return std::nullopt;
}

template <class Message>
std::optional<Servers> read_servers(const Placed<Message>& from) {
  if (from->has_dedicated() && !from->has_servers()) {
    from.refuse(Message::kDedicatedFieldNumber, "dedicated without servers, expected both");
  }
  const auto count = from.within(Message::kServersFieldNumber, from->has_servers(), from->servers(), 1, kMostServers);
  if (!count) return std::nullopt;
  return Servers{static_cast<int>(*count), from->dedicated()};
}

template <class Message>
std::optional<ResidualMemory> read_residual_memory(const Placed<Message>& from) {
  constexpr int kNumber = Message::kResidualMemoryFieldNumber;
  if (!from->has_residual_memory()) return std::nullopt;
  const std::string expected = ", expected two_buffers, one_buffer or bfloat16";
  if (from.written_as_number(kNumber)) {
    from.refuse(kNumber, "residual_memory " + std::to_string(from->residual_memory()) + expected + " (by name)");
    return std::nullopt;
  }
  for (const ResidualMemory memory : kResidualMemories) {
    if (wire::ResidualMemory_Name(from->residual_memory()) == name_of(memory)) return memory;
  }
  from.refuse(kNumber, "residual_memory `RESIDUAL_MEMORY_UNSPECIFIED`" + expected + " (leave it out to say nothing)");
  return std::nullopt;
}

/// Reads the limits for the planner.
template <class Message>
void read_limits(const Placed<Message>& from, Choice* choice) {
  constexpr int kMaxError = Message::kMaxErrorFieldNumber;
  if (from->has_max_error()) {
    choice->max_error = checked(from, kMaxError, from->max_error(), 0);
    if (*choice->max_error > 1) {
      from.refuse(kMaxError, "max_error " + proto::number_text(*choice->max_error) +
                                 ", expected at most 1: of a gradient's squared values, the part that may be lost");
    }
  }
  for (int i = 0; i < from->allow_size(); ++i) {
    choice->allowed.push_back(read_codec(from.inner(from->allow(i), Message::kAllowFieldNumber, i)));
  }
  if (choice->codec && !choice->allowed.empty()) {
    from.inner(from->allow(0), Message::kAllowFieldNumber, 0)
        .refuse("allow beside a codec, expected one of the two: a codec is fixed");
  } else if (choice->second_hop && !choice->codec && (choice->max_error || !choice->allowed.empty())) {
    from.refuse(Message::kSecondHopFieldNumber,
                "second_hop beside a codec that is left to the planner, expected codec as well, or neither");
  } else if (choice->warm_up_from && !choice->codec && (choice->max_error || !choice->allowed.empty())) {
    from.refuse(Message::kWarmUpFromFieldNumber,
                "warm_up_from beside a codec that is left to the planner, expected codec as well, or neither");
  }
}

/// Reads the fields that Default, Rule and Gradient have in common.
template <class Message>
Choice read_choice(const Placed<Message>& from) {
  Choice choice;
  if (from->has_codec()) choice.codec = read_codec(from.inner(from->codec(), Message::kCodecFieldNumber));
  if (from->has_second_hop()) {
    choice.second_hop = read_codec(from.inner(from->second_hop(), Message::kSecondHopFieldNumber));
  }
  choice.strategy = read_strategy(from);
  choice.partition_bytes = from.within(Message::kPartitionBytesFieldNumber, from->has_partition_bytes(),
                                       from->partition_bytes(), kLeastPartitionBytes);
  choice.partitions =
      from.within(Message::kPartitionsFieldNumber, from->has_partitions(), from->partitions(), 1, kMostPartitions);
  if (from->has_priority()) choice.priority = from->priority();
  choice.warm_up_steps =
      from.within(Message::kWarmUpStepsFieldNumber, from->has_warm_up_steps(), from->warm_up_steps(), 0, kMostSteps);
  if (from->has_warm_up_from()) {
    const auto param = from.inner(from->warm_up_from(), Message::kWarmUpFromFieldNumber);
    if (is_complete(param)) choice.warm_up_from = WarmUpFrom{param->key(), param->value()};
  }
  choice.servers = read_servers(from);
  choice.residual_memory = read_residual_memory(from);
  read_limits(from, &choice);
  return choice;
}

World read_world(const Placed<wire::World>& from) {
  World world;
  world.ranks = from.within(wire::World::kRanksFieldNumber, from->has_ranks(), from->ranks(), 1);
  world.nodes = from.within(wire::World::kNodesFieldNumber, from->has_nodes(), from->nodes(), 1);
  if (world.ranks && world.nodes && *world.nodes > *world.ranks) {
    from.refuse(wire::World::kNodesFieldNumber, "nodes " + std::to_string(*world.nodes) +
                                                    ", expected no more than ranks (" + std::to_string(*world.ranks) +
                                                    ")");
  }
  world.profile_digest = from->profile_digest();
  return world;
}

Rule read_rule(const Placed<wire::Rule>& rule) {
  if (rule->match().empty()) {
    rule.refuse("a rule without a pattern, expected match: \"PATTERN\" (what holds for all belongs into default)");
  }
  return {rule->match(), read_choice(rule)};
}

std::vector<Entry> read_gradients(const Placed<wire::Plan>& from) {
  const int number = wire::Plan::kGradientFieldNumber;
  std::vector<Entry> entries;
  std::map<std::string_view, int> index_of;
  for (int i = 0; i < from->gradient_size() && !from.hopeless(); ++i) {
    const auto gradient = from.inner(from->gradient(i), number, i);
    const auto [first, fresh] = index_of.emplace(gradient->name(), i);
    if (gradient->name().empty()) {
      gradient.refuse("a gradient without a name, expected name: \"NAME\"");
    } else if (!fresh) {
      gradient.refuse("gradient " + proto::quoted(gradient->name()) +
                      " a second time, expected one entry (the first is in line " +
                      std::to_string(from.line(number, first->second)) + ")");
    }
    entries.push_back({gradient->name(), read_choice(gradient)});
  }
  return entries;
}

std::vector<GradientGroup> read_groups(const Placed<wire::Plan>& from) {
  std::vector<GradientGroup> groups;
  for (int i = 0; i < from->group_size() && !from.hopeless(); ++i) {
    const auto group = from.inner(from->group(i), wire::Plan::kGroupFieldNumber, i);
    groups.push_back({group->name(), {group->gradient().begin(), group->gradient().end()}, read_choice(group)});
  }
  return groups;
}

void check_groups(const Placed<wire::Plan>& from, const Plan& plan) {
  for (const GroupFault& fault : faults_of_groups(plan)) {
    const auto at = static_cast<int>(fault.at);
    if (from.hopeless()) return;
    if (fault.is_of_entry) {
      from.inner(from->gradient(at), wire::Plan::kGradientFieldNumber, at).refuse(fault.text);
    } else {
      from.inner(from->group(at), wire::Plan::kGroupFieldNumber, at).refuse(fault.text);
    }
  }
}

void check_version(const Placed<wire::Plan>& from) {
  const std::string expected = ", expected version: " + std::to_string(kPlanVersion);
  if (!from->has_version()) {
    from.refuse("no version" + expected);
  } else if (from->version() != kPlanVersion) {
    from.refuse(wire::Plan::kVersionFieldNumber, "version " + std::to_string(from->version()) + expected +
                                                     " (the plan was written for another CaSync than this)");
  }
}

/// Refuses warm_up_from in a plan with local SGD: gradients are not compressed until local SGD begins; with gossip,
/// never.
void check_warm_up(const Placed<wire::Plan>& from, const Plan& plan) {
  const auto has_it = [](const auto& one) { return one.choice.warm_up_from.has_value(); };
  const bool any = plan.defaults.warm_up_from || std::any_of(plan.rules.begin(), plan.rules.end(), has_it) ||
                   std::any_of(plan.gradients.begin(), plan.gradients.end(), has_it) ||
                   std::any_of(plan.groups.begin(), plan.groups.end(), has_it);
  if (any && plan.mode.is_gossip()) {
    from.refuse(wire::Plan::kGossipFieldNumber, "gossip beside warm_up_from, expected one of the two");
  } else if (any && plan.mode.is_local()) {
    from.refuse(wire::Plan::kLocalSgdFieldNumber, "local_sgd beside warm_up_from, expected one of the two");
  }
}

void check_servers(const Placed<wire::Plan>& from, const Plan& plan) {
  const auto check = [](const auto& source, const std::string& fault) {
    if (!fault.empty()) source.refuse(wire::Default::kServersFieldNumber, fault);  // as in rules and entries
  };
  if (from->has_default_()) {
    check(from.inner(from->default_(), wire::Plan::kDefaultFieldNumber), fault_of_servers(plan, plan.defaults));
  }
  for (int i = 0; i < from->rule_size(); ++i) {
    check(from.inner(from->rule(i), wire::Plan::kRuleFieldNumber, i),
          fault_of_servers(plan, plan.rules[static_cast<std::size_t>(i)].choice));
  }
  for (int i = 0; i < static_cast<int>(plan.gradients.size()); ++i) {
    check(from.inner(from->gradient(i), wire::Plan::kGradientFieldNumber, i),
          fault_of_servers(plan, plan.gradients[static_cast<std::size_t>(i)]));
  }
  for (int i = 0; i < static_cast<int>(plan.groups.size()); ++i) {
    const GradientGroup& group = plan.groups[static_cast<std::size_t>(i)];
    check(from.inner(from->group(i), wire::Plan::kGroupFieldNumber, i),
          fault_of_servers(plan, Entry{group.name, group.choice}));
  }
}

/// Files are written as seen from the plan's folder; from here on as seen from where the program runs.
void resolve_files(const std::filesystem::path& folder, Choice* choice) {
  const auto resolve = [&](CodecChoice& codec) {
    if (!is_codec_file(codec.name)) return;
    std::vector<std::string> files = codec_files(codec.name);
    for (std::string& file : files) {
      if (std::filesystem::path(file).is_absolute()) continue;
      const std::filesystem::path path = (folder / file).lexically_normal();
      file = path.has_parent_path() ? path.string() : "./" + path.string();
    }
    codec.name = codec_file_name(files);
  };
  for (std::optional<CodecChoice>* codec : {&choice->codec, &choice->second_hop}) {
    if (*codec) resolve(**codec);
  }
  for (CodecChoice& codec : choice->allowed) resolve(codec);
}

Prediction read_prediction(const Placed<wire::Prediction>& from) {
  Prediction prediction;
  prediction.step_s =
      required(from, wire::Prediction::kStepSecondsFieldNumber, from->has_step_seconds(), from->step_seconds(), 0);
  prediction.training_s = checked(from, wire::Prediction::kTrainingSecondsFieldNumber, from->training_seconds(), 0);
  prediction.encode_s = checked(from, wire::Prediction::kEncodeSecondsFieldNumber, from->encode_seconds(), 0);
  prediction.merge_s = checked(from, wire::Prediction::kMergeSecondsFieldNumber, from->merge_seconds(), 0);
  prediction.decode_s = checked(from, wire::Prediction::kDecodeSecondsFieldNumber, from->decode_seconds(), 0);
  return prediction;
}

Plan read_plan(const Placed<wire::Plan>& from) {
  Plan plan;
  if (from->has_default_()) {
    plan.defaults = read_choice(from.inner(from->default_(), wire::Plan::kDefaultFieldNumber));
  }
  for (int i = 0; i < from->rule_size(); ++i) {
    plan.rules.push_back(read_rule(from.inner(from->rule(i), wire::Plan::kRuleFieldNumber, i)));
  }
  plan.gradients = read_gradients(from);
  plan.groups = read_groups(from);
  check_groups(from, plan);
  if (from->has_world()) plan.world = read_world(from.inner(from->world(), wire::Plan::kWorldFieldNumber));
  plan.fusion_bytes = static_cast<Bytes>(
      from.within(wire::Plan::kFusionBytesFieldNumber, from->has_fusion_bytes(), from->fusion_bytes(), 0)
          .value_or(static_cast<std::int64_t>(plan.fusion_bytes)));
  plan.coordinated = from->coordinated();
  plan.credit_bytes = static_cast<Bytes>(
      from.within(wire::Plan::kCreditBytesFieldNumber, from->has_credit_bytes(), from->credit_bytes(), 0).value_or(0));
  if (plan.coordinated && plan.credit_bytes > 0) {
    from.refuse(wire::Plan::kCreditBytesFieldNumber, "credit_bytes beside coordinated, expected one of the two");
  }
  plan.seed = from->seed();
  if (from->has_predicted()) {
    plan.predicted = read_prediction(from.inner(from->predicted(), wire::Plan::kPredictedFieldNumber));
  }
  plan.mode = read_mode(from);
  check_warm_up(from, plan);
  check_servers(from, plan);
  return plan;
}

}  // namespace

Result<Plan> parse_plan(std::string_view text, std::string_view source) {
  wire::Plan message;
  proto::Places places;
  proto::TextDiagnostics diagnostics(text, source);
  const bool read = proto::read_text(&message, &places, &diagnostics);
  const Placed<wire::Plan> root(message, &places, {}, diagnostics);
  const bool other_version = message.has_version() && message.version() != kPlanVersion;
  // In a plan of another version all other mistakes are only consequences.
  if (other_version) diagnostics.clear();
  if (read || other_version) check_version(root);
  Plan plan;
  if (read && !other_version) plan = read_plan(root);
  if (!diagnostics.empty()) return diagnostics.status();
  const std::filesystem::path folder = std::filesystem::path(source).parent_path();
  resolve_files(folder, &plan.defaults);
  for (Rule& rule : plan.rules) resolve_files(folder, &rule.choice);
  for (Entry& entry : plan.gradients) resolve_files(folder, &entry.choice);
  for (GradientGroup& group : plan.groups) resolve_files(folder, &group.choice);
  return plan;
}

}  // namespace casync
