// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/plan_codecs.h"

#include <optional>

namespace casync {
namespace {

void add(const Choice& choice, const std::string& where, std::vector<PlannedCodec>& codecs) {
  for (const CodecChoice& allowed : choice.allowed) codecs.push_back({where, allowed});
  for (const std::optional<CodecChoice>& codec : {choice.codec, choice.second_hop}) {
    if (codec) codecs.push_back({where, *codec});
  }
}

}  // namespace

std::vector<PlannedCodec> codecs_in(const Plan& plan) {
  std::vector<PlannedCodec> codecs;
  add(plan.defaults, "default", codecs);
  for (const Rule& rule : plan.rules) add(rule.choice, "rule `" + rule.match + "`", codecs);
  for (const Entry& entry : plan.gradients) add(entry.choice, "gradient `" + entry.name + "`", codecs);
  for (const GradientGroup& group : plan.groups) add(group.choice, "group `" + group.name + "`", codecs);
  return codecs;
}

}  // namespace casync
