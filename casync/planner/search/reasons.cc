// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/search/reasons.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>

#include "casync/planner/search/options.h"

namespace casync {
namespace {

std::string reason(const Option& chosen, const Option& plain, const Option* coded, const GradientTimes& times) {
  if (compresses(chosen.decision)) {
    const double saved = plain.outline.busiest_port_s() - chosen.outline.busiest_port_s();
    const double messages = plain.outline.messages_s() - chosen.outline.messages_s();
    const std::string processors = messages > 0 ? " and " + text_of_seconds(messages) + " less of messages" : "";
    return text_of_seconds(std::max(0.0, saved)) + " less on the wire" + processors + " for " +
           text_of_seconds(std::max(0.0, chosen.outline.codec_s() - plain.outline.codec_s())) + " more of codec";
  }
  if (coded == nullptr) return "as it is: no codec is allowed";
  const std::string name = text_of(coded->decision.codec);
  if (coded->outline.alone_s() >= plain.outline.alone_s()) {
    return "as it is: with " + name + " it would take " + text_of_seconds(coded->outline.alone_s()) + " alone, now " +
           text_of_seconds(plain.outline.alone_s());
  }
  if (times.waiting_s <= 0) return "as it is: nobody waits for it";
  return "as it is: the step is no shorter with " + name;
}

/// The loss of recorded gradient `at` when encoded with `choice`; nothing: it was not recorded.
std::optional<double> recorded_loss(const PlanRequest& request, std::size_t at, const CodecChoice& choice) {
  if (choice.name == "none") return 0.0;
  for (const CodecOffer& offer : request.codecs) {
    if (offer.choice == choice && at < offer.recorded.size()) return offer.recorded[at];
  }
  return std::nullopt;
}

/// "; loses 0.0031 of it", if a loss was recorded. A gradient that is encoded again at each hop loses it each time.
std::string loss_text(Evaluator& evaluator, std::size_t at, const Decision& decision) {
  const PlanRequest& request = evaluator.request();
  std::optional<double> first = recorded_loss(request, at, decision.codec);
  const std::optional<double> second = recorded_loss(request, at, decision.second_hop);
  if (!compresses(decision) || !first || !second) return "";
  if (const Result<CodecFacts> codec = evaluator.facts(decision.codec)) {
    *first *= encodings_on_the_way(decision.strategy, request.topology.ranks, codec->traits);
  }
  char text[64];
  std::snprintf(text, sizeof text, *first == *second ? "; loses %.2g of it" : "; loses %.2g of it, %.2g back", *first,
                *second);
  return text;
}

/// The options that finish soonest when nothing else runs.
struct Shortest {
  const Option *plain = nullptr, *coded = nullptr;
};

Shortest shortest_of(Evaluator& evaluator, std::size_t gradient) {
  Shortest shortest;
  const Result<std::vector<const Option*>> options = all_options(evaluator, gradient);
  if (!options) return shortest;
  for (const Option* option : *options) {
    const Option*& best = compresses(option->decision) ? shortest.coded : shortest.plain;
    if (best == nullptr || option->outline.alone_s() < best->outline.alone_s()) best = option;
  }
  return shortest;
}

/// Adds comments after the lines that begin so, in their order, and after the default's.
std::string commented(const std::string& plan_text, const std::vector<std::string>& head, std::string_view begins,
                      std::span<const std::string> comments, const std::string& of_default) {
  std::string text;
  for (const std::string& line : head) text += "# " + line + "\n";
  std::size_t next = 0;
  for (std::size_t begin = 0; begin < plan_text.size();) {
    std::size_t end = plan_text.find('\n', begin);
    if (end == std::string::npos) end = plan_text.size();
    const std::string line = plan_text.substr(begin, end - begin);
    text += line;
    if (line.starts_with(begins) && next < comments.size()) text += "  # " + comments[next++];
    if (line.starts_with("default ") && !of_default.empty()) text += "  # all others: " + of_default;
    text += "\n";
    begin = end + 1;
  }
  return text;
}

}  // namespace

std::string text_of_seconds(double seconds) {
  char text[32];
  if (seconds < 1e-3) {
    std::snprintf(text, sizeof text, "%.3g us", seconds * 1e6);
  } else {
    std::snprintf(text, sizeof text, "%.3f ms", seconds * 1e3);
  }
  return text;
}

std::string text_of(const Decision& decision) {
  std::string text = text_of(decision.codec);
  if (!(decision.second_hop == decision.codec)) text += ", " + text_of(decision.second_hop) + " on the way back";
  text += ", " + std::string(name_of(decision.strategy));
  if (decision.servers.count > 0) text += " with " + text_of(decision.servers);
  return text + ", " + std::to_string(decision.partitions) + (decision.partitions == 1 ? " partition" : " partitions");
}

std::vector<std::string> reasons(Evaluator& evaluator, const PlannedStep& step, const Simulation& simulation) {
  std::map<std::string, Shortest> known;
  std::vector<std::string> lines;
  for (std::size_t g = 0; g < step.decisions.size(); ++g) {
    const GradientTimes& times = simulation.gradients[g];
    std::string line = text_of_seconds(times.sync_s);
    if (times.waiting_s > 0) line += ", waited for " + text_of_seconds(times.waiting_s);
    const auto [shortest, fresh] = known.try_emplace(evaluator.kind_of(g));
    if (fresh) shortest->second = shortest_of(evaluator, g);
    const Result<const Option*> chosen = evaluator.option(g, step.decisions[g]);
    if (evaluator.limits(g).codec) {
      line += "; its codec is fixed";
    } else if (chosen && shortest->second.plain != nullptr) {
      line += "; " + reason(**chosen, *shortest->second.plain, shortest->second.coded, times);
    }
    lines.push_back(line + loss_text(evaluator, g, step.decisions[g]));
  }
  return lines;
}

std::string with_comments(const std::string& plan_text, const std::vector<std::string>& head,
                          std::span<const std::string> of_gradients) {
  return commented(plan_text, head, "gradient ", of_gradients, "");
}

std::string with_rule_comments(const std::string& plan_text, const std::vector<std::string>& head,
                               std::span<const std::string> of_rules) {
  const std::string last = of_rules.empty() ? "" : of_rules.back();
  return commented(plan_text, head, "rule ", of_rules.first(of_rules.empty() ? 0 : of_rules.size() - 1), last);
}

}  // namespace casync
