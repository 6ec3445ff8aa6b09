// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/report/beside.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "tools/casync/formatted.h"
#include "tools/casync/trace/trace_event.h"

namespace casync::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kComparedGradients = 12;

constexpr const char* kTerms[] = {"ms_per_step",
                                  "first_step_ms",
                                  "exposed_ms_per_step",
                                  "hidden_ms_per_step",
                                  "backward_ms_per_step",
                                  "payload_bytes_per_rank_step",
                                  "wire_bytes_per_rank_step",
                                  "ratio"};
constexpr const char* kOfGradient[] = {"payload_bytes", "mean_ms", "exposed_ms"};

Json difference(const Json& here, const Json& there) {
  if (!here.is_number() || !there.is_number()) return {};
  return here.get<double>() - there.get<double>();
}

Json term(const std::string& name, const Json& here, const Json& there) {
  return {{"name", name}, {"here", here}, {"there", there}, {"difference", difference(here, there)}};
}

/// Milliseconds per step of a kind of task, mean over ranks.
Json task_ms(const Json& numbers, const char* kind) {
  double total = 0;
  for (const Json& rank : numbers["by_rank"]) total += rank["tasks"][kind]["ms_per_step"].get<double>();
  return total / static_cast<double>(std::max<std::size_t>(1, numbers["by_rank"].size()));
}

Json field_of(const Json* gradient, const char* field) { return gradient != nullptr ? (*gradient)[field] : Json(); }

/// One gradient of both runs, or of the one that has it.
Json gradient_pair(const std::string& name, const Json* here, const Json* there) {
  Json pair = {{"name", name}};
  for (const char* field : {"codec", "second_hop", "strategy", "partitions"}) {
    pair[field] = {{"here", field_of(here, field)}, {"there", field_of(there, field)}};
  }
  for (const char* field : kOfGradient) {
    const Json own = field_of(here, field), other = field_of(there, field);
    pair[field] = {{"here", own}, {"there", other}, {"difference", difference(own, other)}};
  }
  return pair;
}

Json gradient_pairs(const Json& here, const Json& there) {
  std::map<std::string, const Json*> others;
  for (const Json& gradient : there["gradients"]) others[gradient["name"].get<std::string>()] = &gradient;
  Json pairs = Json::array();
  for (const Json& gradient : here["gradients"]) {
    const std::string name = gradient["name"].get<std::string>();
    const auto found = others.find(name);
    pairs.push_back(gradient_pair(name, &gradient, found != others.end() ? found->second : nullptr));
    if (found != others.end()) others.erase(found);
  }
  for (const Json& gradient : there["gradients"]) {
    const std::string name = gradient["name"].get<std::string>();
    if (others.contains(name)) pairs.push_back(gradient_pair(name, nullptr, &gradient));
  }
  return pairs;
}

/// A name as a terminal may show it.
std::string printable(std::string name) {
  for (char& c : name) {
    if (c < ' ' || c > '~') c = '?';
  }
  return name;
}

std::string value_text(const Json& value) { return value.is_number() ? formatted("%.3f", value.get<double>()) : "-"; }

std::string row(const std::string& name, const Json& values) {
  const Json &there = values["there"], &difference = values["difference"];
  std::string percent;
  if (difference.is_number() && there.get<double>() != 0) {
    percent = formatted(" %+7.0f%%", 100 * difference.get<double>() / there.get<double>());
  }
  return formatted("%-32.32s %14s %14s %14s", printable(name).c_str(), value_text(values["here"]).c_str(),
                   value_text(there).c_str(), value_text(difference).c_str()) +
         percent + "\n";
}

double off_ms(const Json& pair) {
  const Json& difference = pair["mean_ms"]["difference"];
  return difference.is_number() ? std::abs(difference.get<double>()) : 0;
}

}  // namespace

Json beside_json(const Json& here, const Json& there) {
  Json terms = Json::array();
  for (const char* field : kTerms) terms.push_back(term(field, here[field], there[field]));
  for (std::size_t kind = 0; kind < kKindNames.size(); ++kind) {
    if (!is_task(static_cast<Kind>(kind))) continue;
    const char* const name = kKindNames[kind];
    terms.push_back(term(name, task_ms(here, name), task_ms(there, name)));
  }
  return {{"directory", there["directory"]}, {"ranks", there["ranks"]},   {"steps", there["steps"]},
          {"link", there["link"]},           {"terms", std::move(terms)}, {"gradients", gradient_pairs(here, there)}};
}

std::string beside_text(const Json& beside) {
  std::string text = formatted("%-32s %14s %14s %14s\n", "", "here", "there", "difference");
  for (const Json& one : beside["terms"]) text += row(one["name"].get<std::string>(), one);
  std::vector<const Json*> pairs;
  for (const Json& pair : beside["gradients"]) pairs.push_back(&pair);
  std::stable_sort(pairs.begin(), pairs.end(), [](const Json* a, const Json* b) { return off_ms(*a) > off_ms(*b); });
  text += "gradients, ms from submitted to done:\n";
  for (std::size_t i = 0; i < std::min(kComparedGradients, pairs.size()); ++i) {
    text += row((*pairs[i])["name"].get<std::string>(), (*pairs[i])["mean_ms"]);
  }
  return text + "there: " + printable(beside["directory"].get<std::string>()) + "\n";
}

}  // namespace casync::tools
