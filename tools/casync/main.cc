// SPDX-License-Identifier: Apache-2.0
// The command `casync`. Data goes to stdout, words and progress to stderr.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest.h"
#include "base/number.h"
#include "tools/casync/exit_code.h"
#include "tools/casync/subcommands.h"
#include "tools/casync/version.h"

namespace casync::tools {
namespace {

/// Words after the first "--" belong to another program and never reach the parser.
Invocation split_command_line(int argc, char** argv) {
  Invocation invocation;
  std::vector<std::string> all(argv + 1, argv + argc);
  const auto mark = std::find(all.begin(), all.end(), "--");
  invocation.arguments.assign(all.begin(), mark);
  invocation.separated = mark != all.end();
  if (invocation.separated) invocation.program.assign(mark + 1, all.end());
  return invocation;
}

bool lacks_subcommand(const CLI::App& app) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  if (!chosen.empty()) return lacks_subcommand(*chosen.front());
  return app.get_require_subcommand_min() > 0;
}

/// Lets --json of any subcommand print errors as JSON, too, ahead of the subcommand's work.
void watch_json(CLI::App& app) {
  if (CLI::Option* const json = app.get_option_no_throw("--json")) {
    json->each([](const std::string&) { print_errors_as_json(); });
  }
  for (CLI::App* const sub : app.get_subcommands([](const CLI::App*) { return true; })) watch_json(*sub);
}

/// A command line that the parser refuses; its words have been said.
int refused_usage(const std::vector<std::string>& arguments, const std::string& message) {
  // The parser stops at the first fault, and may not have come to --json.
  if (std::find(arguments.begin(), arguments.end(), "--json") != arguments.end()) print_errors_as_json();
  print_error_json("Usage", kExitUsage, message);
  return kExitUsage;
}

/// Prints and returns the reason why no subcommand could be chosen: the help if none was given, else the unknown word.
std::string explain_subcommand(const CLI::App& app, const std::vector<std::string>& arguments) {
  const CLI::App* command = &app;
  for (const std::string& word : arguments) {
    if (word.starts_with("-")) continue;
    std::vector<std::string> names;
    const CLI::App* chosen = nullptr;
    for (const CLI::App* sub : command->get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(sub->get_name());
      if (sub->get_name() == word) chosen = sub;
    }
    if (chosen == nullptr) {
      const std::vector<std::string_view> known(names.begin(), names.end());
      const std::string name = command->get_display_name();
      const std::string text =
          "no subcommand `" + word + "`" + hint(word, known) + "; `" + name + " --help` lists them";
      std::fprintf(stderr, "%s: %s\n", name.c_str(), text.c_str());
      return text;
    }
    command = chosen;
  }
  std::fprintf(stderr, "%s", command->help().c_str());
  return "no subcommand; `" + command->get_display_name() + " --help` lists them";
}

/// Returns true if each word is a subcommand of the one ahead of it.
bool names_subcommands(const CLI::App& app, const std::vector<std::string>& arguments) {
  const CLI::App* command = &app;
  for (const std::string& word : arguments) {
    if (word.starts_with("-")) continue;
    const std::vector<const CLI::App*> known = command->get_subcommands([](const CLI::App*) { return true; });
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const CLI::App* sub) { return sub->get_name() == word; });
    if (found == known.end()) return false;
    command = *found;
  }
  return true;
}

/// "--ranks: Value two not in range 1 to 1024" becomes "--ranks: `two` is no number, expected 1 to 1024".
std::string reworded(const std::string& message) {
  constexpr std::string_view kBefore = "Value ", kAfter = " not in range ";
  const std::size_t before = message.find(kBefore), after = message.find(kAfter);
  if (before == std::string::npos || after == std::string::npos || after < before) return message;
  const std::string value = message.substr(before + kBefore.size(), after - before - kBefore.size());
  const std::string range = message.substr(after + kAfter.size());
  return message.substr(0, before) + "`" + value + "` is " + (number_from(value) ? "out of range" : "no number") +
         ", expected " + range;
}

int run_command(int argc, char** argv) {
  Invocation invocation = split_command_line(argc, argv);
  // `casync help plan`, as git has it.
  const bool is_help = !invocation.arguments.empty() && invocation.arguments.front() == "help";
  if (is_help) {
    invocation.arguments.erase(invocation.arguments.begin());
    invocation.arguments.emplace_back("--help");
  }
  CLI::App app("Compression-aware gradient synchronization: start jobs, measure, plan, inspect.", "casync");
  app.set_version_flag("--version", std::string("casync ") + kVersion + " (ABI " + std::to_string(kAbi) + ")");
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 ok, 1 failure, 2 wrong command line, 3 refused input, 4 another rank failed or a deadline "
      "passed.");
  add_subcommands(app, invocation);
  watch_json(app);
  if (is_help && !names_subcommands(app, invocation.arguments)) {
    return refused_usage(invocation.arguments, explain_subcommand(app, invocation.arguments));
  }
  std::vector<std::string> reversed(invocation.arguments.rbegin(), invocation.arguments.rend());
  try {  // CLI11 speaks in exceptions; they end here
    app.parse(reversed);
  } catch (const CLI::RequiredError& error) {
    if (lacks_subcommand(app))
      return refused_usage(invocation.arguments, explain_subcommand(app, invocation.arguments));
    app.exit(error);
    return refused_usage(invocation.arguments, error.what());
  } catch (const CLI::ValidationError& error) {
    std::fprintf(stderr, "%s\nRun with --help for more information.\n", reworded(error.what()).c_str());
    return refused_usage(invocation.arguments, reworded(error.what()));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : refused_usage(invocation.arguments, error.what());
  }
  return invocation.exit_code;
}

/// Fills the numbers of stdin, stdout and stderr if the caller has closed them: a file or a socket that took one of
/// them would get all that is printed. Reading from the first and writing to the others fail as they did.
void fill_standard_descriptors() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    if (::open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY) != descriptor) return;
  }
}

/// The exit code once all that was printed has been written: data that a full disk has cut off is a failure.
int with_stdout_written(int code) {
  const bool failed = std::ferror(stdout) != 0;
  errno = 0;
  if (std::fflush(stdout) == 0 && !failed) return code;
  std::fprintf(stderr, "casync: stdout cannot be written%s%s\n", errno == 0 ? "" : ": ",
               errno == 0 ? "" : std::strerror(errno));
  return code == kExitOk ? kExitFailure : code;
}

int run_whole(int argc, char** argv) {
  fill_standard_descriptors();
  try {
    return with_stdout_written(run_command(argc, argv));
  } catch (const std::bad_alloc&) {  // of sizes that a caller has asked for
    const char* const text = "this machine has not enough memory for that";
    std::fprintf(stderr, "casync: %s\n", text);
    print_error_json(name_of(StatusCode::kUnavailable), kExitFailure, text);
    return kExitFailure;
  }
}

}  // namespace
}  // namespace casync::tools

int main(int argc, char** argv) {
  // A caller may have left it ignored: the ends of child processes would be lost.
  std::signal(SIGCHLD, SIG_DFL);
  return casync::tools::run_whole(argc, argv);
}
