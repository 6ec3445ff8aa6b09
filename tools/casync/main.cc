// SPDX-License-Identifier: Apache-2.0
// The command `casync`: the list of subcommands. Data goes to stdout, words and progress to stderr.
#include <algorithm>
#include <string>
#include <vector>

#include "tools/casync/exit_code.h"
#include "tools/casync/subcommands.h"
#include "tools/casync/version.h"

namespace casync::tools {
namespace {

/// What follows the first "--" is another program's and is kept from the parser, whatever it looks like.
Invocation split_command_line(int argc, char** argv) {
  Invocation invocation;
  std::vector<std::string> all(argv + 1, argv + argc);
  const auto mark = std::find(all.begin(), all.end(), "--");
  invocation.arguments.assign(all.begin(), mark);
  invocation.separated = mark != all.end();
  if (invocation.separated) invocation.program.assign(mark + 1, all.end());
  return invocation;
}

int run_command(int argc, char** argv) {
  Invocation invocation = split_command_line(argc, argv);
  CLI::App app("Compression-aware gradient synchronization: start, measure, look inside.", "casync");
  app.set_version_flag("--version", std::string("casync ") + kVersion + " (ABI " + std::to_string(kAbi) + ")");
  app.require_subcommand(1);
  app.footer("Exit codes: 0 ok, 1 failure, 2 usage, 3 refused input, 4 peer or timeout.");
  add_run(app, invocation);
  add_bench(app, invocation);
  add_report(app, invocation);
  add_doctor(app, invocation);
  add_codec(app, invocation);
  add_simulate(app, invocation);
  add_plan(app, invocation);
  add_explain(app, invocation);
  add_profile(app, invocation);
  std::vector<std::string> reversed(invocation.arguments.rbegin(), invocation.arguments.rend());
  try {  // CLI11 speaks in exceptions; they end here
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  return invocation.exit_code;
}

}  // namespace
}  // namespace casync::tools

int main(int argc, char** argv) { return casync::tools::run_command(argc, argv); }
