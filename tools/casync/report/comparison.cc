// SPDX-License-Identifier: Apache-2.0
//
// Prediction beside measurement, and what a measurement makes of a profile.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tools/casync/report/measured_run.h"

namespace casync::tools {
namespace {

constexpr std::size_t kShownGradients = 12;
constexpr double kLeastFactor = 0.1, kMostFactor = 10;

std::string line(const char* format, auto... arguments) {
  char text[256];
  std::snprintf(text, sizeof text, format, arguments...);
  return text;
}

double training_s(const MeasuredRun& run) { return run.scenario.training.backward_s + run.scenario.training.forward_s; }

Result<Simulation> predict(const MeasuredRun& run, const Profile& profile) {
  Scenario scenario = run.scenario;
  scenario.profile = profile;
  return simulate(scenario, {});
}

void scale(Curve& curve, double factor) {
  for (Curve::Point& point : curve.points) point.seconds *= factor;
}

void scale(Link& link, double factor) {
  link.latency_s *= factor;
  link.message_s *= factor;
  scale(link.wire, factor);
  scale(link.send_work, factor);
  scale(link.receive_work, factor);
}

/// 1 where nothing was measured or predicted.
double ratio(double measured, double predicted) {
  if (!(measured > 0) || !(predicted > 0)) return 1;
  return std::clamp(measured / predicted, kLeastFactor, kMostFactor);
}

}  // namespace

Result<Comparison> compare(const MeasuredRun& run, const Profile& profile) {
  const Result<Simulation> simulation = predict(run, profile);
  CASYNC_RETURN_IF_ERROR(simulation.status());
  const StepParts& parts = simulation->parts;
  Comparison comparison;
  comparison.terms = {{"step", run.step_s, simulation->step_s},
                      {"encode", run.encode_s, parts.encode_s},
                      {"merge", run.merge_s, parts.merge_s},
                      {"decode", run.decode_s, parts.decode_s},
                      {"exposed", std::max(0.0, run.step_s - training_s(run)), parts.exposed_s}};
  for (std::size_t i = 0; i < run.sync_s.size(); ++i) {
    comparison.gradients.push_back(
        {run.scenario.training.gradients[i].spec.name, run.sync_s[i], simulation->gradients[i].sync_s});
  }
  const auto by_difference = [](const Term& a, const Term& b) {
    return std::abs(a.measured_s - a.predicted_s) > std::abs(b.measured_s - b.predicted_s);
  };
  std::stable_sort(comparison.gradients.begin(), comparison.gradients.end(), by_difference);
  // What codecs do not explain is the network's, and the training's own.
  const Term* worst = &comparison.terms[1];
  for (std::size_t i = 2; i <= 3; ++i) {
    if (by_difference(comparison.terms[i], *worst)) worst = &comparison.terms[i];
  }
  const double off = run.step_s - simulation->step_s;
  const double codecs = std::abs(worst->measured_s - worst->predicted_s);
  comparison.verdict = line("the step takes %.0f %% of what was predicted; ", 100 * run.step_s / simulation->step_s);
  const bool network = std::abs(off) > 2 * codecs;
  comparison.to_blame = network ? "exposed" : worst->name;
  const std::string messages =
      parts.messages_s > 0 ? line("; %.3f ms of its processors were predicted for messages", parts.messages_s * 1e3)
                           : "";
  comparison.verdict += network
                            ? "codecs do not explain that: the network does, or training that is not alone" + messages
                            : "furthest off is " + worst->name;
  return comparison;
}

Result<Correction> corrected(const MeasuredRun& run, const Profile& profile) {
  const Result<Simulation> simulation = predict(run, profile);
  CASYNC_RETURN_IF_ERROR(simulation.status());
  Correction made{profile, {}};
  const double encode = ratio(run.encode_s, simulation->parts.encode_s);
  const double merge = ratio(run.merge_s, simulation->parts.merge_s);
  const double decode = ratio(run.decode_s, simulation->parts.decode_s);
  for (auto& [name, curves] : made.profile.codecs) {
    scale(curves.encode, encode);
    scale(curves.merge, merge);
    scale(curves.merge_base, merge);
    scale(curves.decode, decode);
  }
  made.changes.push_back(line("encode x %.2f, merge x %.2f, decode x %.2f", encode, merge, decode));
  // A step is no shorter with slower links, so the factor can be bisected; where the step does not depend on it, it
  // stays.
  const auto step_with = [&](double factor) -> Result<double> {
    Profile tried = made.profile;
    scale(tried.between, factor);
    scale(tried.inside, factor);
    const Result<Simulation> with = predict(run, tried);
    CASYNC_RETURN_IF_ERROR(with.status());
    return with->step_s;
  };
  double low = kLeastFactor, high = kMostFactor;
  for (const double bound : {low, high}) {
    const Result<double> step = step_with(bound);
    CASYNC_RETURN_IF_ERROR(step.status());
    if ((bound == low) == (*step >= run.step_s)) (bound == low ? high : low) = bound;
  }
  const Result<double> now = step_with(1);
  CASYNC_RETURN_IF_ERROR(now.status());
  double factor = 1;
  if (std::abs(*now - run.step_s) > 0.01 * run.step_s) {
    for (int i = 0; i < 40 && high / low > 1.001; ++i) {
      const double middle = std::sqrt(low * high);
      const Result<double> step = step_with(middle);
      CASYNC_RETURN_IF_ERROR(step.status());
      (*step >= run.step_s ? high : low) = middle;
    }
    factor = std::sqrt(low * high);
  }
  scale(made.profile.between, factor);
  scale(made.profile.inside, factor);
  made.changes.push_back(line("links' times x %.2f", factor));
  return made;
}

std::string comparison_text(const Comparison& comparison) {
  std::string text = line("%-32s %12s %12s %8s\n", "ms", "measured", "predicted", "off");
  const auto row = [&](const Term& term) {
    const double off = term.predicted_s > 0 ? 100 * (term.measured_s / term.predicted_s - 1) : 0;
    text += line("%-32.32s %12.3f %12.3f %+7.0f%%\n", term.name.c_str(), term.measured_s * 1e3, term.predicted_s * 1e3,
                 off);
  };
  for (const Term& term : comparison.terms) row(term);
  text += "gradients, submitted to done:\n";
  for (std::size_t i = 0; i < std::min(kShownGradients, comparison.gradients.size()); ++i) row(comparison.gradients[i]);
  return text + comparison.verdict + "\n";
}

nlohmann::ordered_json comparison_json(const Comparison& comparison) {
  const auto list = [](const std::vector<Term>& terms) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const Term& term : terms) {
      all.push_back(
          {{"name", term.name}, {"measured_ms", term.measured_s * 1e3}, {"predicted_ms", term.predicted_s * 1e3}});
    }
    return all;
  };
  return {{"terms", list(comparison.terms)},
          {"gradients", list(comparison.gradients)},
          {"verdict", comparison.verdict},
          {"to_blame", comparison.to_blame}};
}

}  // namespace casync::tools
