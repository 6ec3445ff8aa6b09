// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/decide.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/nearest.h"

namespace casync {
namespace {

/// Returns true if this source leaves the codec to the planner.
bool leaves_codec_open(const Choice& choice) {
  return !choice.codec && (choice.max_error.has_value() || !choice.allowed.empty());
}

// The sources that apply to one gradient, strongest first.
struct Sources {
  std::vector<const Choice*> choices;

  Sources(const Plan& plan, std::string_view name) {
    const auto entry =
        std::find_if(plan.gradients.begin(), plan.gradients.end(), [&](const Entry& e) { return e.name == name; });
    if (entry != plan.gradients.end()) choices.push_back(&entry->choice);
    const auto group =
        std::find_if(plan.groups.begin(), plan.groups.end(), [&](const GradientGroup& g) { return g.name == name; });
    if (group != plan.groups.end()) choices.push_back(&group->choice);
    const auto rule =
        std::find_if(plan.rules.begin(), plan.rules.end(), [&](const Rule& r) { return matches(r.match, name); });
    if (rule != plan.rules.end()) choices.push_back(&rule->choice);
    choices.push_back(&plan.defaults);
  }

  /// The strongest source that fixes the codec or leaves it open; null: no source does.
  const Choice* deciding_codec() const {
    const auto decides = [](const Choice* choice) { return choice->codec || leaves_codec_open(*choice); };
    const auto found = std::find_if(choices.begin(), choices.end(), decides);
    return found == choices.end() ? nullptr : *found;
  }

  CodecChoice codec() const {
    const Choice* decides = deciding_codec();
    return decides != nullptr ? decides->codec.value_or(CodecChoice{}) : CodecChoice{};
  }

  template <class T>
  T first(std::optional<T> Choice::*field, T otherwise) const {
    for (const Choice* choice : choices) {
      if (choice->*field) return *(choice->*field);
    }
    return otherwise;
  }

  /// The codec of the second hop: a source that names only `codec` means it for both hops.
  std::optional<CodecChoice> fixed_second_hop() const {
    for (const Choice* choice : choices) {
      if (choice->second_hop) return choice->second_hop;
      if (choice->codec || leaves_codec_open(*choice)) return choice->codec;
    }
    return std::nullopt;
  }

  /// The warm-up belongs to a codec: a stronger source that names another codec drops it.
  std::optional<WarmUpFrom> warm_up_from() const {
    for (const Choice* choice : choices) {
      if (choice->warm_up_from) return choice->warm_up_from;
      if (choice->codec || leaves_codec_open(*choice)) return std::nullopt;
    }
    return std::nullopt;
  }

  StrategyKind strategy() const { return first(&Choice::strategy, StrategyKind::kPs); }
  Servers servers() const { return strategy() == StrategyKind::kPs ? first(&Choice::servers, Servers{}) : Servers{}; }

  std::optional<int> partitions(Bytes bytes, int ranks) const {
    const int owners = owner_count(servers(), ranks);
    for (const Choice* choice : choices) {
      if (choice->partitions) return std::clamp(*choice->partitions, 1, kMostPartitions);
      if (choice->partition_bytes) return choose_partitions(bytes, ranks, owners, *choice->partition_bytes);
    }
    return std::nullopt;
  }
};

std::string name_of(const Plan& plan, const Choice* source) {
  if (source == &plan.defaults) return "the default";
  for (std::size_t r = 0; r < plan.rules.size(); ++r) {
    if (source == &plan.rules[r].choice) return "rule " + std::to_string(r + 1) + " " + backquoted(plan.rules[r].match);
  }
  return "its entry";
}

// Returns the remark about rule `at`, from the gradients that it matches and the rules that decide each of those.
std::optional<std::string> remark_on_rule(const Plan& plan, std::size_t at, std::span<const GradientSpec> gradients) {
  std::size_t matched = 0;
  std::set<std::size_t> hidden_by;
  for (const GradientSpec& gradient : gradients) {
    if (!matches(plan.rules[at].match, gradient.name)) continue;
    ++matched;
    std::size_t first = 0;
    while (!matches(plan.rules[first].match, gradient.name)) ++first;
    if (first == at) return std::nullopt;
    hidden_by.insert(first);
  }
  const std::string rule = "rule " + std::to_string(at + 1) + " " + backquoted(plan.rules[at].match);
  if (matched == 0) return rule + " matches no gradient";
  std::string others;
  for (std::size_t first : hidden_by) {
    others += (others.empty() ? "" : ", ") + std::to_string(first + 1) + " " + backquoted(plan.rules[first].match);
  }
  return rule + " never applies: what it matches (" + std::to_string(matched) +
         (matched == 1 ? " gradient" : " gradients") + ") is taken by rule " + others + " before it";
}

}  // namespace

bool matches(std::string_view pattern, std::string_view name) {
  // The last * seen takes as little as it can; when the rest then fails to match, it takes one more. Earlier
  // ones never need to: so this is at most pattern times name steps, and nothing nests.
  std::size_t p = 0, n = 0;
  std::size_t star = std::string_view::npos, taken_to = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken_to = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p, ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++taken_to;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

CodecLimits codec_limits(const Plan& plan, std::string_view gradient) {
  const Sources sources(plan, gradient);
  CodecLimits limits;
  const Choice* decides = sources.deciding_codec();
  if (decides != nullptr) {
    limits.is_open = leaves_codec_open(*decides);
    limits.codec = decides->codec;
    limits.by = name_of(plan, decides);
  }
  limits.second_hop = sources.fixed_second_hop();
  for (const Choice* choice : sources.choices) {
    if (!limits.max_error) limits.max_error = choice->max_error;
    if (limits.is_open && limits.allowed.empty()) limits.allowed = choice->allowed;
    if (choice == decides && !limits.is_open) break;  // weaker sources do not count
  }
  return limits;
}

SaidFields said_fields(const Plan& plan, std::string_view gradient) {
  SaidFields said;
  for (const Choice* choice : Sources(plan, gradient).choices) {
    said.strategy |= choice->strategy.has_value();
    said.partitions |= choice->partitions.has_value() || choice->partition_bytes.has_value();
    said.priority |= choice->priority.has_value();
    said.warm_up_steps |= choice->warm_up_steps.has_value();
    said.servers |= choice->servers.has_value();
    said.residual_memory |= choice->residual_memory.has_value();
  }
  return said;
}

Status check_decided(const Plan& plan, std::string_view gradient) {
  const CodecLimits limits = codec_limits(plan, gradient);
  if (!limits.is_open) return Status::ok();
  return plan_error("its codec is left to the planner (" + std::string(limits.max_error ? "max_error" : "allow") +
                    " in " + limits.by + ", and no codec): `casync plan --plan FILE` chooses one, or name it");
}

Decision decide(const Plan& plan, const GradientSpec& gradient, int ranks, const PayloadBits& bits_of) {
  const Sources sources(plan, gradient.name);
  const std::optional<int> partitions = sources.partitions(gradient.bytes(), ranks);
  Decision decision{
      .codec = sources.codec(),
      .second_hop = sources.fixed_second_hop().value_or(CodecChoice{}),
      .strategy = sources.strategy(),
      .partitions = partitions.value_or(1),
      .priority = sources.first(&Choice::priority, gradient.priority),
      .warm_up_steps = std::max(sources.first(&Choice::warm_up_steps, std::uint32_t{0}), plan.mode.from_step),
      .warm_up_from = sources.warm_up_from(),
      .servers = sources.servers(),
      .residual_memory = sources.first(&Choice::residual_memory, ResidualMemory::kTwoBuffers)};
  if (!partitions) decision.partitions = default_partitions(decision, gradient, ranks, bits_of);
  return decision;
}

int default_partitions(const Decision& decision, const GradientSpec& gradient, int ranks, const PayloadBits& bits_of) {
  const int owners = owner_count(decision.servers, ranks);
  const int uncompressed = default_partitions(gradient.bytes(), ranks, owners, 1);
  if (uncompressed == 1) return 1;  // nobody is asked about the codecs of small gradients
  const auto share = [&](const CodecChoice& codec) {
    if (codec.name == "none") return 1.0;  // in half precision, too
    return bits_of(codec) / static_cast<double>(8 * bytes_of(gradient.dtype));
  };
  const double first = share(decision.codec);
  const bool one_payload = gradient.scattered || decision.second_hop == decision.codec;
  const double both = one_payload ? first : (first + share(decision.second_hop)) / 2;
  return default_partitions(gradient.bytes(), ranks, owners, both);
}

std::vector<std::string> remarks(const Plan& plan, std::span<const GradientSpec> gradients, const Topology& topology) {
  std::vector<std::string> found;
  for (std::size_t r = 0; r < plan.rules.size(); ++r) {
    if (auto remark = remark_on_rule(plan, r, gradients)) found.push_back(std::move(*remark));
  }
  std::vector<std::string_view> names;
  for (const GradientSpec& gradient : gradients) names.push_back(gradient.name);
  const std::set<std::string_view> known(names.begin(), names.end());
  for (const Entry& entry : plan.gradients) {
    if (known.contains(entry.name)) continue;
    found.push_back("entry " + backquoted(entry.name) + " names no gradient" + hint(entry.name, names));
  }
  for (const GradientGroup& group : plan.groups) {
    const auto whole = std::find_if(gradients.begin(), gradients.end(),
                                    [&](const GradientSpec& gradient) { return gradient.name == group.name; });
    if (whole == gradients.end()) continue;
    for (const std::string& name : group.gradients) {
      const bool is_in = std::any_of(whole->members.begin(), whole->members.end(),
                                     [&](const GroupMember& member) { return member.name == name; });
      if (!is_in) found.push_back("group " + backquoted(group.name) + ": " + backquoted(name) + " names no gradient");
    }
  }
  const auto made_for = [&](std::optional<int> wanted, int here, const char* what) {
    if (!wanted || *wanted == here) return;
    found.push_back("the plan was made for " + std::to_string(*wanted) + " " + what + (*wanted == 1 ? "" : "s") +
                    ", and this group has " + std::to_string(here));
  };
  made_for(plan.world.ranks, topology.ranks, "rank");
  made_for(plan.world.nodes, topology.nodes(), "node");
  return found;
}

}  // namespace casync
