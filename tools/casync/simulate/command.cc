// SPDX-License-Identifier: Apache-2.0
// casync simulate: how long a step would take on a cluster that is not here.
#include <cstdio>
#include <memory>

#include "base/number.h"
#include "casync/simulator/simulate_within.h"
#include "tools/casync/exit_code.h"
#include "tools/casync/number_within.h"
#include "tools/casync/print_json.h"
#include "tools/casync/scenario/prediction.h"
#include "tools/casync/scenario/scenario.h"
#include "tools/casync/subcommands.h"

namespace casync::tools {
namespace {

constexpr int kMostRanks = 65536;
constexpr std::uint64_t kMostTracedTasks = 4'000'000;  // about a gigabyte of trace

struct SimulateOptions {
  std::string plan, profile, model, trace;
  std::vector<std::string> slow;
  int ranks = 0, nodes = 0;
  SimulationOptions simulation;
  bool one_rank = false;
  bool json = false;
};

/// "3=1.5": rank 3 takes one and a half times as long.
Status read_slowness(const SimulateOptions& options, std::vector<double>& slowness) {
  if (options.slow.empty()) return Status::ok();
  slowness.assign(static_cast<std::size_t>(options.ranks), 1);
  for (const std::string& text : options.slow) {
    const std::size_t equals = text.find('=');
    const std::optional<double> rank = number_from(text.substr(0, equals));
    const std::optional<double> factor =
        equals == std::string::npos ? std::nullopt : number_from(text.substr(equals + 1));
    const bool known = rank && *rank >= 0 && *rank < options.ranks && *rank == static_cast<int>(*rank);
    if (!known || !factor || *factor <= 0) {
      return invalid_argument("--slow " + text + ": expected RANK=FACTOR with a rank from 0 to " +
                              std::to_string(options.ranks - 1) + " and a factor above 0");
    }
    slowness[static_cast<std::size_t>(*rank)] = *factor;
  }
  return Status::ok();
}

Status predict(SimulateOptions options) {
  CASYNC_RETURN_IF_ERROR(read_slowness(options, options.simulation.slowness));
  const Result<Scenario> scenario =
      read_scenario({options.profile, options.model, options.plan}, place(options.ranks, options.nodes),
                    [](const std::string& remark) { std::fprintf(stderr, "casync simulate: %s\n", remark.c_str()); });
  if (!scenario) return scenario.status();
  options.simulation.spans = !options.trace.empty();
  const Result<Simulation> simulation = options.one_rank
                                            ? simulate_within(kAffordableTasks, *scenario, options.simulation)
                                            : simulate(*scenario, options.simulation);
  if (!simulation) return simulation.status();
  if (simulation->spans.size() > kMostTracedTasks) {
    return invalid_argument("--trace: " + std::to_string(simulation->spans.size()) + " events, expected at most " +
                            std::to_string(kMostTracedTasks) + ": simulate fewer ranks or steps");
  }
  if (!options.trace.empty()) CASYNC_RETURN_IF_ERROR(write_prediction_trace(*scenario, *simulation, options.trace));
  if (options.json) {
    print_json(prediction_json(*scenario, *simulation));
  } else {
    std::printf("%s", prediction_text(*scenario, *simulation).c_str());
  }
  return Status::ok();
}

int run(const SimulateOptions& options) {
  const Status nodes = check_nodes(options.ranks, options.nodes);
  if (!nodes) return fail_usage("simulate", nodes.message());
  const Status status = predict(options);
  return status.is_ok() ? kExitOk : fail("simulate", status);
}

}  // namespace

void add_simulate(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<SimulateOptions>();
  CLI::App* command = app.add_subcommand("simulate", "Predict a step's time, and its parts, on any cluster");
  command
      ->add_option("--profile", options->profile,
                   "Costs of the cluster's machines and links (casync profile, examples/profiles)")
      ->required();
  command
      ->add_option("--model", options->model,
                   "Gradients, and when they are ready and needed (CASYNC_RECORD, examples/models)")
      ->required();
  command->add_option("--plan", options->plan, "Plan file (default: nothing is compressed)");
  command->add_option("-n,--ranks", options->ranks, "Number of ranks")->required()->check(CLI::Range(1, kMostRanks));
  command->add_option("--nodes", options->nodes, "Number of machines (default: one for each rank)")
      ->check(CLI::Range(1, kMostRanks));
  command->add_option("--steps", options->simulation.steps, "Number of steps, of which the prediction is the mean")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command->add_option("--slow", options->slow,
                      "RANK=FACTOR: training and codecs of this rank take FACTOR times as long; repeatable");
  command
      ->add_option("--jitter", options->simulation.jitter,
                   "Each rank's training takes up to this share longer, drawn for each step")
      ->check(number_within(0.0, 1000.0))
      ->capture_default_str();
  command->add_option("--seed", options->simulation.seed, "Seed of the jitter")->capture_default_str();
  command->add_option("--trace", options->trace,
                      "Write the simulated tasks of all ranks as one Chrome trace for Perfetto");
  command->add_flag(
      "--one-rank", options->one_rank,
      "Simulate one rank only, an approximation, if a step has more than 4 million tasks on all ranks, or "
      "12 million on symmetric ones");
  command->add_flag("--json", options->json, "Print the prediction with every gradient as a JSON object");
  command->callback([=, &invocation] {
    if (options->nodes == 0) options->nodes = options->ranks;
    invocation.exit_code = run(*options);
  });
}

}  // namespace casync::tools
