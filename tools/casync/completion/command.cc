// SPDX-License-Identifier: Apache-2.0
// casync completion: a shell's completion of subcommands and options, from the parser itself.
#include <cstdio>
#include <string>

#include "tools/casync/exit_code.h"
#include "tools/casync/subcommands.h"

namespace casync::tools {
namespace {

/// The words that may follow a subcommand: its own subcommands and its long options.
std::string words_of(const CLI::App& command) {
  std::string words;
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; })) {
    words += sub->get_name() + " ";
  }
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) words += "--" + name + " ";
  }
  if (!words.empty()) words.pop_back();
  return words;
}

/// A case of the shell's `case` for this command and each one below it, by the words on the way to it.
std::string cases_of(const CLI::App& command, const std::string& way) {
  std::string cases = "    \"" + way + "\") words=\"" + words_of(command) + "\" ;;\n";
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; })) {
    cases += cases_of(*sub, way.empty() ? sub->get_name() : way + " " + sub->get_name());
  }
  return cases;
}

void print_bash(const CLI::App& app) {
  std::printf(
      "_casync() {\n"
      "  local word way=\"\" words=\"\" current=\"${COMP_WORDS[COMP_CWORD]}\"\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    case \"$word\" in --) COMPREPLY=($(compgen -f -- \"$current\")); return ;; -*) continue ;; esac\n"
      "    case \" $(_casync_words \"$way\") \" in *\" $word \"*) way=\"${way:+$way }$word\" ;; esac\n"
      "  done\n"
      "  words=\"$(_casync_words \"$way\")\"\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "  case \"$current\" in -*) ;; *) COMPREPLY+=($(compgen -f -- \"$current\")) ;; esac\n"
      "}\n"
      "_casync_words() {\n"
      "  local words=\"\"\n"
      "  case \"$1\" in\n"
      "%s"
      "  esac\n"
      "  printf '%%s' \"$words\"\n"
      "}\n"
      "complete -F _casync casync\n",
      cases_of(app, "").c_str());
}

}  // namespace

void add_completion(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("completion", "Print a completion script for a shell");
  command->add_subcommand("bash", "eval \"$(casync completion bash)\"")->callback([&app, &invocation] {
    print_bash(app);
    invocation.exit_code = kExitOk;
  });
  command->require_subcommand(1);
}

}  // namespace casync::tools
