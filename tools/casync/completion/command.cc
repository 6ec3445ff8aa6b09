// SPDX-License-Identifier: Apache-2.0
// casync completion: a shell's completion of subcommands and options, from the parser itself.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "tools/casync/exit_code.h"
#include "tools/casync/subcommands.h"

namespace casync::tools {
namespace {

std::vector<const CLI::App*> subcommands_of(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App*) { return true; });
}

/// A word that may follow a subcommand: a subcommand of its own, or a long option.
struct Word {
  std::string text, description;
  bool is_option = false;
};

std::vector<Word> words_of(const CLI::App& command) {
  std::vector<Word> words;
  for (const CLI::App* sub : subcommands_of(command)) words.push_back({sub->get_name(), sub->get_description()});
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      words.push_back({"--" + name, option->get_description(), true});
    }
  }
  return words;
}

/// Calls visit(command, way) for the command and each one below it; `way` is the words that lead to it.
template <class Visit>
void for_each_command(const CLI::App& command, const std::string& way, const Visit& visit) {
  visit(command, way);
  for (const CLI::App* sub : subcommands_of(command)) {
    for_each_command(*sub, way.empty() ? sub->get_name() : way + " " + sub->get_name(), visit);
  }
}

/// The text in single quotes, with `quote` for one within it.
std::string quoted(std::string_view text, std::string_view quote) {
  std::string made = "'";
  for (const char c : text) made += c == '\'' ? std::string(quote) : std::string(1, c);
  return made + "'";
}

void print_bash(const CLI::App& app) {
  std::string cases;
  for_each_command(app, "", [&](const CLI::App& command, const std::string& way) {
    cases += "    \"" + way + "\") words=\"";
    for (const Word& word : words_of(command)) cases += word.text + " ";
    cases += "\" ;;\n";
  });
  std::printf(
      "_casync() {\n"
      "  local word way=\"\" words=\"\" current=\"${COMP_WORDS[COMP_CWORD]}\"\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    case \"$word\" in --) mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); return ;; -*) continue ;; esac\n"
      "    case \" $(_casync_words \"$way\") \" in *\" $word \"*) way=\"${way:+$way }$word\" ;; esac\n"
      "  done\n"
      "  words=\"$(_casync_words \"$way\")\"\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
      "  [[ \"$current\" == -* ]] || mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$current\")\n"
      "}\n"
      "_casync_words() {\n"
      "  local words=\"\"\n"
      "  case \"$1\" in\n"
      "%s"
      "  esac\n"
      "  printf '%%s' \"$words\"\n"
      "}\n"
      "complete -o filenames -F _casync casync\n",
      cases.c_str());
}

void print_zsh(const CLI::App& app) {
  std::string cases;
  for_each_command(app, "", [&](const CLI::App& command, const std::string& way) {
    cases += "    \"" + way + "\") reply=(";
    for (const Word& word : words_of(command)) cases += quoted(word.text + ":" + word.description, "'\\''") + " ";
    cases += ") ;;\n";
  });
  std::printf(
      "_casync() {\n"
      "  local word way=\"\"\n"
      "  local -a reply\n"
      "  for word in \"${(@)words[2,CURRENT-1]}\"; do\n"
      "    case \"$word\" in --) _files; return ;; -*) continue ;; esac\n"
      "    _casync_words \"$way\"\n"
      "    (( ${reply[(I)$word:*]} )) && way=\"${way:+$way }$word\"\n"
      "  done\n"
      "  _casync_words \"$way\"\n"
      "  _describe casync reply\n"
      "  [[ \"$PREFIX\" == -* ]] || _files\n"
      "}\n"
      "_casync_words() {\n"
      "  reply=()\n"
      "  case \"$1\" in\n"
      "%s"
      "  esac\n"
      "}\n"
      "compdef _casync casync\n",
      cases.c_str());
}

void print_fish(const CLI::App& app) {
  std::string ways, lines;
  for_each_command(app, "", [&](const CLI::App& command, const std::string& way) {
    if (!way.empty()) ways += " " + quoted(way, "\\'");
    for (const Word& word : words_of(command)) {
      const std::string text = word.is_option ? "-l " + word.text.substr(2) : "-a " + word.text;
      lines += "complete -c casync -n '__casync_is_at \"" + way + "\"' " + text + " -d " +
               quoted(word.description, "\\'") + "\n";
    }
  });
  std::printf(
      "function __casync_is_at\n"
      "  set -l way\n"
      "  for word in (commandline -opc)[2..-1]\n"
      "    test \"$word\" = -- && return 1\n"
      "    set -l next (string trim \"$way $word\")\n"
      "    contains -- \"$next\"%s && set way $next\n"
      "  end\n"
      "  test \"$way\" = \"$argv[1]\"\n"
      "end\n"
      "%s",
      ways.c_str(), lines.c_str());
}

}  // namespace

void add_completion(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("completion", "Print a completion script for a shell");
  const auto add = [&](const char* shell, const char* use, void (*print)(const CLI::App&)) {
    command->add_subcommand(shell, use)->callback([&app, &invocation, print] {
      print(app);
      invocation.exit_code = kExitOk;
    });
  };
  add("bash", "eval \"$(casync completion bash)\"", &print_bash);
  add("fish", "casync completion fish | source", &print_fish);
  add("zsh", "eval \"$(casync completion zsh)\", once compinit has run", &print_zsh);
  command->require_subcommand(1);
}

}  // namespace casync::tools
