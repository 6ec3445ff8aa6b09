// SPDX-License-Identifier: Apache-2.0
//
// Compares prediction and measurement, and corrects a profile by a measurement.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "casync/model/codec_choice.h"
#include "casync/planner/search/request.h"
#include "casync/simulator/sync_mode.h"
#include "tools/casync/formatted.h"
#include "tools/casync/measurement/measured_run.h"
#include "tools/casync/measurement/on_the_way.h"

namespace casync::tools {
namespace {

constexpr std::size_t kShownGradients = 12;
constexpr double kLeastFactor = 0.1, kMostFactor = 10;

/// Both passes, mean over ranks and what they draw.
double training_s(const MeasuredRun& run) {
  const Training& training = run.scenario.training;
  double slowness = 0;
  for (Rank rank = 0; rank < run.scenario.topology.ranks; ++rank) slowness += training.slowness_of(rank);
  return (training.backward_s + training.forward_s) * (slowness / run.scenario.topology.ranks) *
         (1 + training.jitter / 2);
}

Result<Simulation> predict(const MeasuredRun& run, const Profile& profile, bool spans = false) {
  Scenario scenario = run.scenario;
  scenario.profile = profile;
  SimulationOptions options;
  options.spans = spans;
  return simulate(scenario, options);
}

/// The same steps with every gradient but biases and norms in this codec, by the same strategies and partitions; the
/// others go in their own type, as in a session.
Result<double> predict_step_with(const CodecChoice& codec, const MeasuredRun& run, const Profile& profile) {
  MeasuredRun other = run;
  for (std::size_t i = 0; i < other.scenario.decisions.size(); ++i) {
    const GradientSpec& spec = other.scenario.training.gradients[i].spec;
    Decision& decision = other.scenario.decisions[i];
    decision.codec = decision.second_hop = spec.shape.size() > 1 ? codec : CodecChoice{"none", {}};
    decision = in_own_type(decision, spec.dtype);
  }
  const Result<Simulation> simulation = predict(other, profile);
  CASYNC_RETURN_IF_ERROR(simulation.status());
  return simulation->step_s;
}

/// The tasks of all ranks in all steps that are simulated.
std::uint64_t tasks_of_all_steps(const MeasuredRun& run, const Simulation& simulation) {
  return simulation.tasks * static_cast<std::uint64_t>(simulated_steps(run.scenario, {}));
}

/// Simulates once more, with spans; returns the mean over ranks and steps.
Result<OnTheWay> predict_messages(const MeasuredRun& run, const Profile& profile) {
  const Result<Simulation> simulation = predict(run, profile, true);
  CASYNC_RETURN_IF_ERROR(simulation.status());
  // The spans of a round of local SGD are those of one exchange.
  const double steps = 1.0 * simulated_steps(run.scenario, {}) * steps_of_exchange(run.scenario.mode);
  const double shares = static_cast<double>(run.scenario.topology.ranks) * steps;
  OnTheWay mean;
  for (const auto& [step, one] : on_the_way(simulation->spans)) {
    mean.out_s += one.out_s / shares;
    mean.in_s += one.in_s / shares;
  }
  return mean;
}

bool knows_messages(const Profile& profile) {
  const auto knows = [](const Link& link) { return !link.send_work.empty() || !link.receive_work.empty(); };
  return knows(profile.between) || knows(profile.inside);
}

/// The processor time that messages were predicted to take; nothing where the profile does not say it.
std::optional<double> predicted_messages_s(const Simulation& simulation, const Profile& profile) {
  if (!knows_messages(profile)) return std::nullopt;
  return simulation.parts.processor_s;
}

double off_s(const Term& term) { return term.predicted_s ? std::abs(term.measured_s - *term.predicted_s) : 0; }

void scale(Curve& curve, double factor) {
  for (Curve::Point& point : curve.points) point.seconds *= factor;
}

void scale_network(Link& link, double factor) {
  link.latency_s *= factor;
  link.message_s *= factor;
  scale(link.wire, factor);
}

void scale_work(Link& link, double factor) {
  scale(link.send_work, factor);
  scale(link.receive_work, factor);
}

/// The ratio, within bounds; 1 if nothing was measured or predicted.
double ratio(double measured, double predicted) {
  if (!(measured > 0) || !(predicted > 0)) return 1;
  return std::clamp(measured / predicted, kLeastFactor, kMostFactor);
}

Result<std::vector<Term>> terms_of(const MeasuredRun& run, const Profile& profile, const Simulation& simulation,
                                   std::uint64_t most_with_spans) {
  const StepParts& parts = simulation.parts;
  std::optional<double> send, recv;
  if (tasks_of_all_steps(run, simulation) <= most_with_spans) {
    const Result<OnTheWay> messages = predict_messages(run, profile);
    CASYNC_RETURN_IF_ERROR(messages.status());
    send = messages->out_s;
    recv = messages->in_s;
  }
  std::vector<Term> terms = {{"step", run.step_s, simulation.step_s},
                             {"encode", run.encode_s, parts.encode_s},
                             {"merge", run.merge_s, parts.merge_s},
                             {"decode", run.decode_s, parts.decode_s},
                             {"send", run.send_s, send},
                             {"recv", run.recv_s, recv}};
  if (run.messages_s) terms.push_back({"messages", *run.messages_s, predicted_messages_s(simulation, profile)});
  terms.push_back({"exposed", std::max(0.0, run.step_s - training_s(run)), parts.exposed_s});
  return terms;
}

void blame(Comparison& comparison) {
  const std::vector<Term>& terms = comparison.terms;
  // The first is the step, and the last follows from it.
  const Term& worst = *std::max_element(terms.begin() + 1, terms.end() - 1,
                                        [](const Term& a, const Term& b) { return off_s(a) < off_s(b); });
  const bool explained = 2 * off_s(worst) >= off_s(terms.front());
  comparison.to_blame = explained ? worst.name : "exposed";
  comparison.verdict = formatted("the step takes %.0f %% of what was predicted; ",
                                 100 * terms.front().measured_s / *terms.front().predicted_s) +
                       (explained ? "furthest off is " + worst.name
                                  : "neither codecs nor messages explain that: what training stands still for does, "
                                    "or training that is not alone");
}

/// Scales the links' times. If the processor time of messages is known, it is not scaled.
void scale_links(Profile& profile, double factor, bool messages_known) {
  for (Link* link : {&profile.between, &profile.inside}) {
    scale_network(*link, factor);
    if (!messages_known) scale_work(*link, factor);
  }
}

/// The factor for the links' times.
struct LinksFactor {
  double factor = 1;
  bool explains = true;  ///< the step is then as long as measured
};

/// A step is no shorter with slower links, so the factor can be bisected. Where none makes the step as long as
/// measured, the smallest change that brings it as near as it can be brought.
Result<LinksFactor> links_factor(const MeasuredRun& run, const Profile& profile, bool messages_known) {
  constexpr double kNear = 0.01;  // of a step
  const auto step_with = [&](double factor) -> Result<double> {
    Profile tried = profile;
    scale_links(tried, factor, messages_known);
    const Result<Simulation> with = predict(run, tried);
    CASYNC_RETURN_IF_ERROR(with.status());
    return with->step_s;
  };
  const Result<double> now = step_with(1);
  CASYNC_RETURN_IF_ERROR(now.status());
  if (std::abs(*now - run.step_s) <= kNear * run.step_s) return LinksFactor{};
  double low = *now < run.step_s ? 1 : kLeastFactor, high = *now < run.step_s ? kMostFactor : 1;
  const Result<double> end = step_with(low == 1 ? high : low);
  CASYNC_RETURN_IF_ERROR(end.status());
  const bool explains = low == 1 ? *end >= run.step_s : *end <= run.step_s;
  const double target = explains ? run.step_s : *end * (low == 1 ? 1 - kNear : 1 + kNear);
  for (int i = 0; i < 40 && high / low > 1.001; ++i) {
    const double middle = std::sqrt(low * high);
    const Result<double> step = step_with(middle);
    CASYNC_RETURN_IF_ERROR(step.status());
    (*step >= target ? high : low) = middle;
  }
  return LinksFactor{std::sqrt(low * high), explains};
}

/// Measured and predicted work of one codec.
struct WorkOf {
  CodecWork measured, predicted;
};

/// The work by the profile's curves that price it; what no curve prices is left out. A merge has the curves of the
/// codec that it merges, else those of the result's.
std::map<std::string, WorkOf> work_by_codec(const MeasuredRun& run, const Profile& profile,
                                            const Simulation& simulation) {
  const auto key = [&](const CodecChoice& codec) {
    const std::string whole = text_of(codec);
    return profile.codecs.contains(whole) ? whole : codec.name;
  };
  std::map<std::string, WorkOf> all;
  for (std::size_t i = 0; i < run.work.size(); ++i) {
    const Decision& decision = run.scenario.decisions[i];
    const std::string first = key(decision.codec), second = key(decision.second_hop);
    const auto add = [&](const std::string& codec, double CodecWork::*part) {
      if (!profile.codecs.contains(codec)) return;
      all[codec].measured.*part += run.work[i].*part;
      all[codec].predicted.*part += simulation.gradients[i].work.*part;
    };
    const auto found = profile.codecs.find(first);
    add(first, &CodecWork::encode_s);
    add(found != profile.codecs.end() && !found->second.merge.empty() ? first : second, &CodecWork::merge_s);
    add(second, &CodecWork::decode_s);
  }
  return all;
}

/// Factors of a codec's curves.
struct Factors {
  double encode = 1, merge = 1, decode = 1;
};

/// The factors of `work`; `otherwise` if nothing was measured or predicted.
Factors factors_of(const WorkOf& work, const Factors& otherwise) {
  const auto factor = [&](double CodecWork::*part, double all) {
    const double measured = work.measured.*part, predicted = work.predicted.*part;
    return measured > 0 && predicted > 0 ? ratio(measured, predicted) : all;
  };
  return {factor(&CodecWork::encode_s, otherwise.encode), factor(&CodecWork::merge_s, otherwise.merge),
          factor(&CodecWork::decode_s, otherwise.decode)};
}

std::string text_of(const Factors& factors) {
  return formatted("encode x %.2f, merge x %.2f, decode x %.2f", factors.encode, factors.merge, factors.decode);
}

/// Corrects each codec by its own tasks. Codecs that the run has not used run on the same machine: they get the factors
/// of all tasks.
void correct_codecs(const MeasuredRun& run, const Simulation& simulation, Correction& made) {
  const StepParts& parts = simulation.parts;
  const Factors all{ratio(run.encode_s, parts.encode_s), ratio(run.merge_s, parts.merge_s),
                    ratio(run.decode_s, parts.decode_s)};
  const std::map<std::string, WorkOf> used = work_by_codec(run, made.profile, simulation);
  for (auto& [name, curves] : made.profile.codecs) {
    const auto found = used.find(name);
    const Factors own = found != used.end() ? factors_of(found->second, all) : all;
    scale(curves.encode, own.encode);
    scale(curves.merge, own.merge);
    scale(curves.merge_base, own.merge);
    scale(curves.decode, own.decode);
    if (found != used.end()) made.changes.push_back(name + ": " + text_of(own));
  }
  const bool others = used.size() < made.profile.codecs.size();
  if (used.empty() || others) made.changes.push_back((used.empty() ? "" : "other codecs: ") + text_of(all));
}

}  // namespace

Result<Comparison> compare(const MeasuredRun& run, const Profile& profile, std::uint64_t most_with_spans) {
  const Result<Simulation> simulation = predict(run, profile);
  CASYNC_RETURN_IF_ERROR(simulation.status());
  Result<std::vector<Term>> terms = terms_of(run, profile, *simulation, most_with_spans);
  CASYNC_RETURN_IF_ERROR(terms.status());
  Comparison comparison;
  comparison.terms = std::move(*terms);
  for (std::size_t i = 0; i < run.sync_s.size(); ++i) {
    const double exchange_s = simulation->gradients[i].sync_s * steps_of_exchange(run.scenario.mode);
    comparison.gradients.push_back({run.scenario.training.gradients[i].spec.name, run.sync_s[i], exchange_s});
  }
  std::stable_sort(comparison.gradients.begin(), comparison.gradients.end(),
                   [](const Term& a, const Term& b) { return off_s(a) > off_s(b); });
  blame(comparison);
  const Result<double> plain = predict_step_with({"none", {}}, run, profile);
  CASYNC_RETURN_IF_ERROR(plain.status());
  comparison.plain_step_s = *plain;
  // A run's strategies may not carry a codec: then there is nothing to propose.
  const Result<double> four_bits = predict_step_with({"int4", {}}, run, profile);
  if (four_bits) comparison.int4_step_s = *four_bits;
  return comparison;
}

Result<Correction> corrected(const MeasuredRun& run, const Profile& profile) {
  const Result<Simulation> simulation = predict(run, profile);
  CASYNC_RETURN_IF_ERROR(simulation.status());
  Correction made{profile, {}};
  correct_codecs(run, *simulation, made);
  const std::optional<double> predicted_messages = predicted_messages_s(*simulation, profile);
  const bool messages_known = run.messages_s && predicted_messages;
  if (messages_known) {
    const double messages = ratio(*run.messages_s, *predicted_messages);
    scale_work(made.profile.between, messages);
    scale_work(made.profile.inside, messages);
    made.profile.task_s *= messages;
    if (made.profile.bundled_task_s) *made.profile.bundled_task_s *= messages;
    made.changes.push_back(formatted("processor time of messages and tasks x %.2f", messages));
  }
  const Result<LinksFactor> links = links_factor(run, made.profile, messages_known);
  CASYNC_RETURN_IF_ERROR(links.status());
  scale_links(made.profile, links->factor, messages_known);
  made.changes.push_back(formatted("links' times x %.2f", links->factor) +
                         (links->explains ? "" : "; no links make the step as long as it was"));
  return made;
}

std::string comparison_text(const Comparison& comparison) {
  std::string text = formatted("%-32s %12s %12s %8s\n", "ms", "measured", "predicted", "off");
  const auto row = [&](const Term& term) {
    text += formatted("%-32.32s %12.3f ", term.name.c_str(), term.measured_s * 1e3);
    if (!term.predicted_s) {
      text += "not predicted\n";
      return;
    }
    const double off = *term.predicted_s > 0 ? 100 * (term.measured_s / *term.predicted_s - 1) : 0;
    text += formatted("%12.3f %+7.0f%%\n", *term.predicted_s * 1e3, off);
  };
  for (const Term& term : comparison.terms) row(term);
  text += "gradients, submitted to done:\n";
  for (std::size_t i = 0; i < std::min(kShownGradients, comparison.gradients.size()); ++i) row(comparison.gradients[i]);
  text += formatted("uncompressed, predicted: %.3f ms a step\n", comparison.plain_step_s * 1e3);
  if (comparison.int4_step_s) text += formatted("int4, predicted: %.3f ms a step\n", *comparison.int4_step_s * 1e3);
  return text + comparison.verdict + "\n";
}

nlohmann::ordered_json comparison_json(const Comparison& comparison) {
  const auto list = [](const std::vector<Term>& terms) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const Term& term : terms) {
      nlohmann::ordered_json one{
          {"name", term.name}, {"measured_ms", term.measured_s * 1e3}, {"predicted_ms", nullptr}};
      if (term.predicted_s) one["predicted_ms"] = *term.predicted_s * 1e3;
      all.push_back(std::move(one));
    }
    return all;
  };
  return {{"terms", list(comparison.terms)},
          {"gradients", list(comparison.gradients)},
          {"plain_step_ms", comparison.plain_step_s * 1e3},
          {"int4_step_ms", comparison.int4_step_s ? nlohmann::ordered_json(*comparison.int4_step_s * 1e3) : nullptr},
          {"verdict", comparison.verdict},
          {"to_blame", comparison.to_blame}};
}

}  // namespace casync::tools
