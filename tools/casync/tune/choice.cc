// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/tune/choice.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "casync/model/codec_choice.h"
#include "casync/planner/plan_file.h"

namespace casync::tools {
namespace {

constexpr double kContested = 1.15;
constexpr double kEqual = 1.03;

double cost_of(const TunedWay& way, TuneGoal goal) {
  if (goal == TuneGoal::kStep) return way.step_ms;
  return way.steps ? way.step_ms * *way.steps : std::numeric_limits<double>::infinity();
}

const TunedWay& best_way(const std::vector<TunedWay>& ways, TuneGoal goal) {
  return *std::min_element(ways.begin(), ways.end(),
                           [goal](const auto& a, const auto& b) { return cost_of(a, goal) < cost_of(b, goal); });
}

const TunedWay& way_named(const std::vector<TunedWay>& ways, const char* name) {
  const auto found = std::find_if(ways.begin(), ways.end(), [&](const TunedWay& way) { return way.name == name; });
  CASYNC_CHECK(found != ways.end());
  return *found;
}

/// The text as one word of a shell.
std::string shell_word(const std::string& text) {
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || std::strchr("/._-+=:,@%", c) != nullptr; };
  if (std::all_of(text.begin(), text.end(), is_plain)) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace

std::vector<std::string> contested_ways(const std::vector<TunedWay>& ways, TuneGoal goal) {
  const double least = cost_of(best_way(ways, goal), goal);
  std::vector<std::string> names;
  for (const TunedWay& way : ways) {
    if (cost_of(way, goal) <= kContested * least) names.push_back(way.name);
  }
  return names.size() > 1 ? names : std::vector<std::string>();
}

const TunedWay& chosen_way(const std::vector<TunedWay>& ways, TuneGoal goal) {
  const TunedWay& best = best_way(ways, goal);
  for (const char* name : {kUncompressed, kPlanned}) {
    const TunedWay& way = way_named(ways, name);
    if (cost_of(way, goal) <= kEqual * cost_of(best, goal)) return way;
  }
  return best;
}

std::string gain_of(const std::vector<TunedWay>& ways, const TunedWay& chosen, TuneGoal goal) {
  if (chosen.name == kUncompressed) {
    return goal == TuneGoal::kStep ? "Compression does not pay here: no way shortens the step by 3 %."
                                   : "Compression does not pay here: no way shortens the time to the same loss by 3 %.";
  }
  const TunedWay& reference = way_named(ways, kUncompressed);
  char text[200];
  std::snprintf(text, sizeof text, "%.2f x: %.1f ms a step uncompressed, %.1f ms with %s%s (measured).",
                reference.step_ms / chosen.step_ms, reference.step_ms, chosen.step_ms,
                chosen.name == kPlanned ? "the plan" : chosen.name.c_str(),
                chosen.name == kPlanned ? "" : " for all gradients");
  return text;
}

std::string use_of(const std::string& plan, const std::string& report) {
  return "Use it: CASYNC_PLAN=" + shell_word(plan) + ". Look at it: " + report;
}

Result<std::string> plan_text_of(const std::vector<TunedWay>& ways, const TunedWay& chosen, TuneGoal goal,
                                 const std::string& planned) {
  if (chosen.name == kPlanned) return planned;
  Plan plan;
  if (chosen.name != kUncompressed) {
    const Result<CodecChoice> codec = parse_codec_choice(chosen.name);
    CASYNC_RETURN_IF_ERROR(codec.status());
    plan.defaults.codec = *codec;
  }
  Result<std::string> text = text_of_plan(plan);
  CASYNC_RETURN_IF_ERROR(text.status());
  const TunedWay& other = way_named(ways, kPlanned);
  char why[160];
  std::snprintf(why, sizeof why, "# The planner's plan, planned.txtpb, took %.1f ms a step.\n", other.step_ms);
  return "# " + gain_of(ways, chosen, goal) + "\n" + why + *text;
}

}  // namespace casync::tools
