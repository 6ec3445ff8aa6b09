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

/// Adds every subcommand of tools/CMakeLists.txt to the parser. Each is a folder here, and its command.cc defines
///   void add_NAME(CLI::App& app, Invocation& invocation);
/// which adds options, and a callback that does the work and sets the exit code.
void add_subcommands(CLI::App& app, Invocation& invocation);

}  // namespace casync::tools
