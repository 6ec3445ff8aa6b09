// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace casync::tools {

/// The data that subcommands share with main(): the arguments, and the exit code they leave.
struct Invocation {
  std::vector<std::string> arguments;  ///< the whole command line without the program's name
  std::vector<std::string> program;    ///< the arguments after the first "--"
  bool separated = false;              ///< there was a "--"
  int exit_code = 0;
};

/// Each adds its subcommand to the parser; its callback does the work and sets the exit code. One file each.
void add_run(CLI::App& app, Invocation& invocation);
void add_bench(CLI::App& app, Invocation& invocation);
void add_report(CLI::App& app, Invocation& invocation);
void add_doctor(CLI::App& app, Invocation& invocation);
void add_codec(CLI::App& app, Invocation& invocation);
void add_simulate(CLI::App& app, Invocation& invocation);
void add_plan(CLI::App& app, Invocation& invocation);
void add_explain(CLI::App& app, Invocation& invocation);
void add_profile(CLI::App& app, Invocation& invocation);
void add_tune(CLI::App& app, Invocation& invocation);
void add_completion(CLI::App& app, Invocation& invocation);

}  // namespace casync::tools
