// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "base/codec_file.h"
#include "casync/planner/plan_module/plan_io.h"
#include "casync/strategies/strategy.h"
#include "proto/plan.pb.h"
#include "proto/text_writer.h"

namespace casync {

namespace wire = plan::v1;

namespace {

wire::Strategy written(StrategyKind kind) {
  wire::Strategy value = wire::STRATEGY_UNSPECIFIED;
  CASYNC_CHECK(wire::Strategy_Parse(std::string(name_of(kind)), &value));  // plan.proto has every strategy
  return value;
}

void write_prediction(const Prediction& prediction, wire::Prediction* to) {
  to->set_step_seconds(prediction.step_s);
  to->set_training_seconds(prediction.training_s);
  to->set_encode_seconds(prediction.encode_s);
  to->set_merge_seconds(prediction.merge_s);
  to->set_decode_seconds(prediction.decode_s);
}

void write_mode(const SyncMode& mode, wire::Plan* to) {
  if (mode.staleness > 0) to->set_staleness(static_cast<std::int32_t>(mode.staleness));
  if (mode.is_gossip()) {
    wire::Gossip* const gossip = to->mutable_gossip();
    gossip->set_neighbours(mode.neighbours == Neighbours::kRing ? wire::Gossip::ring : wire::Gossip::pairs);
    if (mode.every > 1) gossip->set_every(mode.every);
    if (mode.from_step > 0) gossip->set_from_step(mode.from_step);
    if (mode.gamma > 0) gossip->set_gamma(mode.gamma);
    return;
  }
  if (mode.is_asynchronous()) {
    wire::Asynchronous* const asynchronous = to->mutable_asynchronous();
    if (mode.asynchronous->bound) asynchronous->set_bound(*mode.asynchronous->bound);
    if (mode.asynchronous->first > 1) asynchronous->set_first(mode.asynchronous->first);
  }
  if (!mode.is_local()) return;
  to->mutable_local_sgd()->set_every(mode.every);
  if (mode.from_step > 0) to->mutable_local_sgd()->set_from_step(mode.from_step);
}

void write_codec(const CodecChoice& choice, wire::Codec* to) {
  if (is_codec_file(choice.name)) {
    to->set_file(choice.name);
  } else {
    to->set_name(choice.name);
  }
  for (const auto& [key, value] : choice.parameters) {
    wire::Param* param = to->add_param();
    param->set_key(key);
    param->set_value(value);
  }
}

template <class Message>
void write_choice(const Choice& choice, Message* to) {
  if (choice.codec) write_codec(*choice.codec, to->mutable_codec());
  if (choice.second_hop) write_codec(*choice.second_hop, to->mutable_second_hop());
  if (choice.strategy) to->set_strategy(written(*choice.strategy));
  if (choice.partition_bytes) to->set_partition_bytes(static_cast<std::int64_t>(*choice.partition_bytes));
  if (choice.partitions) to->set_partitions(*choice.partitions);
  if (choice.priority) to->set_priority(*choice.priority);
  if (choice.warm_up_steps) to->set_warm_up_steps(*choice.warm_up_steps);
  if (choice.warm_up_from) {
    to->mutable_warm_up_from()->set_key(choice.warm_up_from->parameter);
    to->mutable_warm_up_from()->set_value(choice.warm_up_from->value);
  }
  if (choice.servers) {
    to->set_servers(choice.servers->count);
    if (choice.servers->dedicated) to->set_dedicated(true);
  }
  if (choice.residual_memory) {
    wire::ResidualMemory memory = wire::RESIDUAL_MEMORY_UNSPECIFIED;
    CASYNC_CHECK(wire::ResidualMemory_Parse(name_of(*choice.residual_memory), &memory));
    to->set_residual_memory(memory);
  }
  if (choice.max_error) to->set_max_error(*choice.max_error);
  for (const CodecChoice& codec : choice.allowed) write_codec(codec, to->add_allow());
}

void write_world(const World& world, wire::World* to) {
  if (world.ranks) to->set_ranks(*world.ranks);
  if (world.nodes) to->set_nodes(*world.nodes);
  if (!world.profile_digest.empty()) to->set_profile_digest(world.profile_digest);
}

}  // namespace

std::string plan_text(const Plan& plan) {
  wire::Plan message;
  message.set_version(kPlanVersion);
  write_world(plan.world, message.mutable_world());
  if (message.world().ByteSizeLong() == 0) message.clear_world();
  write_choice(plan.defaults, message.mutable_default_());
  if (message.default_().ByteSizeLong() == 0) message.clear_default_();
  for (const Rule& rule : plan.rules) {
    wire::Rule* to = message.add_rule();
    to->set_match(rule.match);
    write_choice(rule.choice, to);
  }
  for (const Entry& entry : plan.gradients) {
    wire::Gradient* to = message.add_gradient();
    to->set_name(entry.name);
    write_choice(entry.choice, to);
  }
  for (const GradientGroup& group : plan.groups) {
    wire::Group* to = message.add_group();
    to->set_name(group.name);
    for (const std::string& gradient : group.gradients) to->add_gradient(gradient);
    write_choice(group.choice, to);
  }
  if (plan.fusion_bytes != Plan{}.fusion_bytes) message.set_fusion_bytes(static_cast<std::int64_t>(plan.fusion_bytes));
  if (plan.coordinated) message.set_coordinated(true);
  if (plan.credit_bytes > 0) message.set_credit_bytes(static_cast<std::int64_t>(plan.credit_bytes));
  if (plan.seed != 0) message.set_seed(plan.seed);
  if (plan.predicted) write_prediction(*plan.predicted, message.mutable_predicted());
  write_mode(plan.mode, &message);
  return "# proto-file: proto/plan.proto\n# proto-message: casync.plan.v1.Plan\n" + proto::text_of(message);
}

}  // namespace casync
