// SPDX-License-Identifier: Apache-2.0
// casync run: starts local ranks and stops all when one dies.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/casync/exit_code.h"
#include "tools/casync/launch/job.h"
#include "tools/casync/number_within.h"
#include "tools/casync/print_json.h"
#include "tools/casync/subcommands.h"

namespace casync::tools {
namespace {

nlohmann::ordered_json to_json(const JobEnd& end) {
  nlohmann::ordered_json json{{"exit_code", end.exit_code}, {"first_failed", nullptr}, {"interrupted_by", nullptr}};
  if (end.first_failed) json["first_failed"] = *end.first_failed;
  if (end.interrupted_by != 0) json["interrupted_by"] = end.interrupted_by;
  for (const RankEnd& rank : end.ranks) {
    json["ranks"].push_back({{"rank", rank.rank},
                             {"pid", rank.pid},
                             {"exit_code", rank.exit_code},
                             {"signal", rank.signal},
                             {"seconds", rank.seconds},
                             {"stopped", rank.stopped}});
  }
  return json;
}

int run(const JobOptions& options, bool json) {
  if (options.program.empty()) {
    return fail_usage("run", "no program; write it after --, as in: casync run -n 4 -- python3 train.py");
  }
  const Result<JobEnd> end = run_job(options);
  if (!end) return fail("run", end.status());
  if (json) print_json(to_json(*end));
  return end->exit_code;
}

}  // namespace

void add_run(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<JobOptions>();
  auto json = std::make_shared<bool>(false);
  auto plain = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("run", "Start local ranks of a program, and stop all of them when one fails");
  command->add_option("-n,--ranks", options->ranks, "Number of ranks")->required()->check(CLI::Range(1, 1024));
  command->add_option("--rendezvous", options->rendezvous,
                      "Meeting point of the ranks: host:port or file:DIRECTORY (default: a private directory)");
  command->add_option("--token", options->token, "Token of the job (default: CASYNC_TOKEN, else 32 random bytes)");
  command->add_flag("--torch", options->torch,
                    "Also set MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE and "
                    "OMP_NUM_THREADS for torch");
  command->add_option("--grace", options->grace_s, "Seconds from a rank's failure until the others get SIGTERM")
      ->check(number_within(0.0, 3600.0))
      ->capture_default_str();
  command->add_flag("--no-prefix", *plain, "Print the ranks' lines without the prefix \"[rank] \"");
  command->add_flag("--json", *json, "Print how each rank ended as JSON; the ranks' own output goes to stderr");
  command->prefix_command();  // `casync run -n 2 program --its-option` works without the --, too
  command->footer(
      "The program follows --, as in: casync run -n 4 -- python3 train.py\n"
      "The exit code is that of the rank that failed first, or 128 + signal if a signal ended that rank.");
  command->callback([=, &invocation] {
    options->program = invocation.separated ? invocation.program : command->remaining();
    if (invocation.separated && !command->remaining().empty()) {
      invocation.exit_code = fail_usage("run", "unexpected `" + command->remaining().front() + "` before --");
      return;
    }
    options->prefix = !*plain;
    options->all_to_stderr = *json;
    invocation.exit_code = run(*options, *json);
  });
}

}  // namespace casync::tools
