// SPDX-License-Identifier: Apache-2.0
//
// Predictions and made-up runs: the simulator's result for one profile, compared with another.
#include <algorithm>
#include <catch2/catch.hpp>

#include "casync/simulator/sync_mode.h"
#include "tests/casync/simulator/scenarios.h"
#include "tools/casync/measurement/measured_run.h"
#include "tools/casync/measurement/on_the_way.h"

namespace casync::tools {
namespace {

Profile with_work() {
  Profile profile = test::awkward();
  profile.contention = {};
  profile.task_s = 2e-6;
  for (Link* link : {&profile.inside, &profile.between}) {
    link->send_work = Curve::affine(1e-6, 1e-10);
    link->receive_work = Curve::affine(2e-6, 2e-10);
  }
  return profile;
}

Scenario scenario_of(const Profile& profile) {
  return test::several(4, 2, {{"byte", {}}, {"byte", {}}, StrategyKind::kPs, 4, 0}, profile);
}

/// As if this had gone as its profile predicts it.
MeasuredRun ran(const Scenario& scenario) {
  MeasuredRun run;
  run.scenario = scenario;
  SimulationOptions options;
  options.spans = true;
  const Simulation simulation = test::simulated(run.scenario, options);
  run.step_s = simulation.step_s;
  run.encode_s = simulation.parts.encode_s;
  run.merge_s = simulation.parts.merge_s;
  run.decode_s = simulation.parts.decode_s;
  run.messages_s = simulation.parts.processor_s;
  for (const auto& [step, one] : on_the_way(simulation.spans)) {
    run.send_s += one.out_s / 4;
    run.recv_s += one.in_s / 4;
  }
  for (const GradientTimes& times : simulation.gradients) {
    run.sync_s.push_back(times.sync_s);
    run.work.push_back(times.work);
  }
  return run;
}

MeasuredRun ran(const Profile& profile) { return ran(scenario_of(profile)); }

Comparison compared(const MeasuredRun& run, const Profile& profile, std::uint64_t most = kMostTasksWithSpans) {
  const Result<Comparison> comparison = compare(run, profile, most);
  REQUIRE(comparison.status().text() == "OK");
  return *comparison;
}

std::vector<std::string> names(const Comparison& comparison) {
  std::vector<std::string> all;
  for (const Term& term : comparison.terms) all.push_back(term.name);
  return all;
}

const Term& term(const Comparison& comparison, const std::string& name) {
  return *std::find_if(comparison.terms.begin(), comparison.terms.end(),
                       [&](const Term& one) { return one.name == name; });
}

}  // namespace

TEST_CASE("report: the passes of unequal ranks count by their mean, so that the rest of a step is exposed") {
  Scenario scenario = scenario_of(with_work());
  scenario.training.slow = {{2, 1.5}};
  const MeasuredRun run = ran(scenario);
  const double passes_s = scenario.training.backward_s + scenario.training.forward_s;
  CHECK(term(compared(run, with_work()), "exposed").measured_s == Approx(run.step_s - 1.125 * passes_s));
}

TEST_CASE("report: passes that a jitter makes longer count with half of it, as their draws have in the mean") {
  Scenario scenario = scenario_of(with_work());
  scenario.training.jitter = 0.2;
  const MeasuredRun run = ran(scenario);
  const double passes_s = scenario.training.backward_s + scenario.training.forward_s;
  CHECK(term(compared(run, with_work()), "exposed").measured_s == Approx(run.step_s - 1.1 * passes_s));
}

TEST_CASE("report: of local SGD a step is compared in the mean of its round, and a gradient's whole exchange") {
  const Scenario every_step = scenario_of(with_work());
  Scenario rounds = every_step, as_one_step = every_step;
  rounds.mode.every = 5;
  as_one_step.training = exchanges_of(every_step.training, rounds.mode).training;
  MeasuredRun run = ran(as_one_step);
  const MeasuredRun round = run;
  run.scenario = rounds;
  const Comparison comparison = compared(run, with_work());
  const auto predicted = [&](const char* name) { return term(comparison, name).predicted_s.value_or(-1); };
  CHECK(predicted("step") == Approx(round.step_s / 5));
  CHECK(predicted("encode") == Approx(round.encode_s / 5));
  CHECK(predicted("send") == Approx(round.send_s / 5));
  CHECK(predicted("recv") == Approx(round.recv_s / 5));
  CHECK(predicted("messages") == Approx(*round.messages_s / 5));
  REQUIRE(comparison.gradients.size() == round.sync_s.size());
  for (const Term& gradient : comparison.gradients) {
    CAPTURE(gradient.name);
    CHECK(gradient.measured_s > 0);
    CHECK(*gradient.predicted_s == Approx(gradient.measured_s));
  }
}

TEST_CASE("report: a run that goes as predicted has each term as predicted") {
  const Comparison comparison = compared(ran(with_work()), with_work());
  CHECK(names(comparison) ==
        std::vector<std::string>{"step", "encode", "merge", "decode", "send", "recv", "messages", "exposed"});
  for (const Term& one : comparison.terms) {
    CAPTURE(one.name);
    REQUIRE(one.predicted_s);
    CHECK(one.measured_s > 0);
    // The step is that of the last rank, what training stands still for the mean of all.
    CHECK(one.measured_s == Approx(*one.predicted_s).epsilon(one.name == "exposed" ? 0.01 : 1e-9));
  }
}

TEST_CASE("report: the longer time of the network, or of messages, is to blame, and nothing else") {
  Profile slow = with_work();
  for (Link* link : {&slow.inside, &slow.between}) link->wire.points = Curve::affine(0, 6e-9).points;
  const Comparison network = compared(ran(slow), with_work());
  CHECK((network.to_blame == "send" || network.to_blame == "recv"));
  CHECK_THAT(network.verdict, Catch::Contains("furthest off is " + network.to_blame));

  MeasuredRun busy = ran(with_work());
  *busy.messages_s += 0.004;
  busy.step_s += 0.006;
  busy.recv_s += 0.001;
  CHECK(compared(busy, with_work()).to_blame == "messages");
  busy.encode_s += 0.005;
  CHECK(compared(busy, with_work()).to_blame == "encode");

  MeasuredRun training = ran(with_work());
  training.step_s += 0.05;
  training.recv_s += 0.001;
  const Comparison nobody = compared(training, with_work());
  CHECK(nobody.to_blame == "exposed");
  CHECK_THAT(nobody.verdict, Catch::Contains("neither codecs nor messages explain that"));
}

TEST_CASE("report: uncompressed, elements of half precision are sent as they are, and not as float32") {
  Scenario scenario = scenario_of(with_work());
  for (TrainedGradient& gradient : scenario.training.gradients) gradient.spec.dtype = DType::kBFloat16;
  for (Decision& decision : scenario.decisions) decision.codec = decision.second_hop = {"bf16", {}};
  const MeasuredRun run = ran(scenario);
  CHECK(compared(run, with_work()).plain_step_s == Approx(run.step_s));
}

TEST_CASE("report: unmeasured terms are left out, unpredicted ones are marked and blamed for nothing") {
  MeasuredRun older = ran(with_work());
  older.messages_s.reset();
  const std::vector<std::string> known = names(compared(older, with_work()));
  CHECK(std::find(known.begin(), known.end(), "messages") == known.end());

  Profile silent = with_work();
  for (Link* link : {&silent.inside, &silent.between}) link->send_work = link->receive_work = {};
  MeasuredRun run = ran(silent);
  run.messages_s = 1000;
  const Comparison comparison = compared(run, silent);
  CHECK_FALSE(term(comparison, "messages").predicted_s);
  CHECK(comparison.to_blame != "messages");
  CHECK_THAT(comparison_text(comparison), Catch::Contains("not predicted"));
  const nlohmann::ordered_json json = comparison_json(comparison);
  CHECK(json["terms"][6]["name"] == "messages");
  CHECK(json["terms"][6]["predicted_ms"].is_null());
  CHECK(json["terms"][5]["predicted_ms"].is_number());
}

TEST_CASE("report: sending and receiving are not predicted for more tasks than there is memory for") {
  const Comparison comparison = compared(ran(with_work()), with_work(), 10);
  CHECK_FALSE(term(comparison, "send").predicted_s);
  CHECK_FALSE(term(comparison, "recv").predicted_s);
  CHECK(term(comparison, "messages").predicted_s);
}

TEST_CASE("report: with a jitter, sending and receiving are predicted for one of the steps that are drawn") {
  MeasuredRun run = ran(with_work());
  const std::uint64_t tasks = test::simulated(run.scenario).tasks;
  const Comparison plain = compared(run, with_work(), tasks);
  run.scenario.training.jitter = 1e-6;
  const Comparison drawn = compared(run, with_work());
  for (const char* const name : {"send", "recv"}) {
    CAPTURE(name);
    REQUIRE(term(plain, name).predicted_s);
    REQUIRE(term(drawn, name).predicted_s);
    CHECK(*term(drawn, name).predicted_s == Approx(*term(plain, name).predicted_s).epsilon(0.2));
    // There is memory for the tasks of one step only.
    CHECK_FALSE(term(compared(run, with_work(), tasks), name).predicted_s);
  }
}

TEST_CASE("report: a correction gives messages the processor time that they took, and leaves the wire as it was") {
  const Profile truth = with_work();
  Profile profile = truth;
  profile.task_s *= 0.5;
  const auto halve = [](Curve& curve) {
    for (Curve::Point& point : curve.points) point.seconds *= 0.5;
  };
  for (Link* link : {&profile.inside, &profile.between}) {
    halve(link->send_work);
    halve(link->receive_work);
  }
  MeasuredRun run = ran(truth);
  const Result<Correction> correction = corrected(run, profile);
  REQUIRE(correction.status().text() == "OK");
  const Profile& made = correction->profile;
  CHECK(made.task_s == Approx(truth.task_s));
  CHECK(made.inside.send_work.at(1e5) == Approx(truth.inside.send_work.at(1e5)));
  CHECK(made.between.receive_work.at(1e5) == Approx(truth.between.receive_work.at(1e5)));
  CHECK(made.between.wire.at(1e5) == Approx(truth.between.wire.at(1e5)));
  CHECK(correction->changes.size() == 3);
  CHECK_THAT(correction->changes[1], Catch::Contains("processor time of messages and tasks x 2.00"));

  // A run that does not say it leaves it to the links' one factor.
  run.messages_s.reset();
  const Result<Correction> older = corrected(run, profile);
  REQUIRE(older.status().text() == "OK");
  CHECK(older->profile.task_s == profile.task_s);
  const double factor = older->profile.between.wire.at(1e5) / profile.between.wire.at(1e5);
  CHECK(older->profile.between.send_work.at(1e5) == Approx(factor * profile.between.send_work.at(1e5)));
}

TEST_CASE("report: a correction gives each codec the time of its own tasks, and others that of all") {
  const auto curves = [](double encode, double merge, double decode) {
    return CodecCurves{Curve::affine(0, encode), Curve::affine(0, decode), Curve::affine(0, merge), {}};
  };
  Profile truth = with_work(), profile = truth;
  truth.launch_s = profile.launch_s = 0;
  truth.codecs = {{"byte", curves(6e-9, 2e-9, 1e-9)}, {"half", curves(1e-9, 3e-9, 5e-10)}, {"vote", {}}};
  profile.codecs = {{"byte", curves(2e-9, 2e-9, 2e-9)}, {"half", curves(2e-9, 1e-9, 1e-9)}, {"vote", curves(1, 1, 1)}};
  Scenario scenario = scenario_of(truth);
  for (std::size_t i = 0; i < scenario.decisions.size(); i += 2) {
    scenario.decisions[i].codec = scenario.decisions[i].second_hop = {"half", {}};
  }
  const MeasuredRun run = ran(scenario);
  const Result<Correction> correction = corrected(run, profile);
  REQUIRE(correction.status().text() == "OK");
  for (const char* codec : {"byte", "half"}) {
    CAPTURE(codec);
    const CodecCurves &made = correction->profile.codecs.at(codec), &wanted = truth.codecs.at(codec);
    CHECK(made.encode.at(1e5) == Approx(wanted.encode.at(1e5)));
    CHECK(made.merge.at(1e5) == Approx(wanted.merge.at(1e5)));
    CHECK(made.decode.at(1e5) == Approx(wanted.decode.at(1e5)));
  }
  scenario.profile = profile;
  const double all = run.encode_s / test::simulated(scenario).parts.encode_s;
  CHECK(all > 0.6);
  CHECK(all < 2.9);
  CHECK(correction->profile.codecs.at("vote").encode.at(1) == Approx(all));
  CHECK(correction->changes[0] == "byte: encode x 3.00, merge x 1.00, decode x 0.50");
  CHECK(correction->changes[1] == "half: encode x 0.50, merge x 3.00, decode x 0.50");
  CHECK_THAT(correction->changes[2], Catch::StartsWith("other codecs: encode x "));
}

TEST_CASE("report: a correction takes each hop's tasks for its own codec") {
  const auto curves = [](double seconds) {
    return CodecCurves{Curve::affine(0, seconds), Curve::affine(0, seconds), Curve::affine(0, seconds), {}};
  };
  Profile truth = with_work(), profile = truth;
  truth.launch_s = profile.launch_s = 0;
  profile.codecs = {{"byte", curves(1e-9)}, {"half", curves(1e-9)}};
  truth.codecs = {{"byte", curves(2e-9)}, {"half", curves(4e-9)}};
  Scenario scenario = scenario_of(truth);
  for (Decision& decision : scenario.decisions) decision.second_hop = {"half", {}};
  const Result<Correction> correction = corrected(ran(scenario), profile);
  REQUIRE(correction.status().text() == "OK");
  CHECK(correction->changes[0] == "byte: encode x 2.00, merge x 2.00, decode x 4.00");
  CHECK(correction->changes[1] == "half: encode x 2.00, merge x 2.00, decode x 4.00");
}

TEST_CASE("report: links that do not explain a step change no more than what helps") {
  const Profile profile = with_work();
  Profile compute_bound = profile;  // links that nobody waits for
  for (Link* link : {&compute_bound.inside, &compute_bound.between}) {
    *link = Link{};
    link->wire = Curve::affine(0, 1e-15);
  }
  for (const Profile& before : {profile, compute_bound}) {
    MeasuredRun run = ran(before);
    const double as_it_is = run.step_s;
    run.step_s = 0.6 * as_it_is;  // less than its training
    const Result<Correction> correction = corrected(run, before);
    REQUIRE(correction.status().text() == "OK");
    CHECK_THAT(correction->changes.back(), Catch::Contains("; no links make the step as long as it was"));
    const double factor = correction->profile.between.wire.at(1e6) / before.between.wire.at(1e6);
    CHECK(factor >= 0.1);
    CHECK(factor <= 1.001);
    Scenario scenario = run.scenario;
    scenario.profile = correction->profile;
    CHECK(test::simulated(scenario).step_s <= as_it_is);
    if (before == compute_bound) CHECK(factor == Approx(1).epsilon(0.01));
  }
}

}  // namespace casync::tools
