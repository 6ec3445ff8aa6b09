// SPDX-License-Identifier: Apache-2.0
// compllc: compiles a codec's source and prints each stage's result.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/number.h"
#include "compll/codegen/cpu/cpu.h"
#include "compll/codegen/cuda/codec_text.h"
#include "compll/codegen/explain.h"
#include "compll/codegen/ir_text.h"
#include "compll/lang/check/checker.h"
#include "compll/lang/operators.h"
#include "compll/lang/syntax/lexer.h"
#include "compll/lang/syntax/parser.h"

namespace casync::compll {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string output, include;
  std::vector<std::string> stages;
  std::vector<std::string> settings;
  bool explain = false;
};

constexpr int kRefused = 1, kUsage = 2;

int report(const Diagnostics& diagnostics) {
  std::fprintf(stderr, "%s\n", diagnostics.status().message().c_str());
  return kRefused;
}

/// Reads `bits=2` and the like as parameters that are known.
std::optional<KnownParameters> known_parameters(const std::vector<std::string>& settings) {
  KnownParameters known;
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    const auto value = equals == setting.npos ? std::nullopt : number_from(setting.substr(equals + 1));
    if (!value) {
      std::fprintf(stderr, "compllc: `%s` is no PARAMETER=NUMBER\n", setting.c_str());
      return std::nullopt;
    }
    known[setting.substr(0, equals)] = *value;
  }
  return known;
}

/// Returns true if a path can stand in an #include directive.
bool can_be_included(const std::string& path) {
  return std::all_of(path.begin(), path.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= ' ' && byte != 0x7f && c != '"' && c != '\\';
  });
}

/// Prints the words that programs call, for editors and the fuzzer, and ends the run.
[[noreturn]] void print_words() {
  for (const std::string_view word : called_words()) {
    std::printf("%.*s\n", static_cast<int>(word.size()), word.data());
  }
  throw CLI::Success();
}

int print(const Result<std::string>& text) {
  if (!text) {
    std::fprintf(stderr, "%s\n", text.status().message().c_str());
    return kRefused;
  }
  std::fputs(text->c_str(), stdout);
  return 0;
}

int print_cuda(const Program& program, const Source& source) {
  const Result<CudaCodecText> text = cuda_codec_text(program, source);
  if (!text) {
    std::fprintf(stderr, "%s\n", text.status().message().c_str());
    return kRefused;
  }
  std::fputs(text_of(*text).c_str(), stdout);
  return 0;
}

/// Writes the file whole, or leaves none.
bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  if (!file) return false;
  file << text;
  file.close();
  if (file) return true;
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) std::filesystem::remove(path, ignored);
  return false;
}

int run(const Options& options) {
  std::vector<SourceFile> files;
  for (const std::string& name : options.files) {
    std::ifstream file(name, std::ios::binary);
    std::error_code ignored;
    if (!file || std::filesystem::is_directory(name, ignored)) {  // a folder opens like a file, and cannot be read
      std::fprintf(stderr, "compllc: cannot read %s\n", name.c_str());
      return kUsage;
    }
    // One byte more than is read at all: a device may have no end.
    std::string text(kMostSourceBytes + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    files.push_back({name, std::move(text)});
  }
  const std::optional<KnownParameters> known = known_parameters(options.settings);
  if (!known) return kUsage;
  const std::set<std::string> wanted(options.stages.begin(), options.stages.end());
  const Source source(files);
  Diagnostics diagnostics(source);
  const Tokens tokens = read_tokens(diagnostics);
  if (wanted.count("tokens") != 0) std::fputs(text_of(source, tokens).c_str(), stdout);
  const Tree tree = parse(tokens, diagnostics);
  if (!diagnostics.empty()) return report(diagnostics);
  if (wanted.count("tree") != 0) std::fputs(text_of(tree).c_str(), stdout);
  std::optional<Program> program = check(tree, *known, diagnostics);
  if (!program) return report(diagnostics);
  if (program->declares.name.empty()) program->declares.name = codec_name_of_file(options.files.front());
  if (wanted.count("typed") != 0) std::fputs(text_of(*program).c_str(), stdout);
  if (wanted.count("cuda") != 0 && print_cuda(*program, source) != 0) return kRefused;
  if (wanted.count("ir") != 0) {
    std::fputs((ir_text(*program, source) + plans_text(*program, source)).c_str(), stdout);
  }
  if (options.explain && print(explanation(*program, source)) != 0) return kRefused;
  if (wanted.count("cpu") != 0 || !options.output.empty()) {
    const std::string& include = options.include.empty() ? options.output : options.include;
    if (!can_be_included(include)) {
      std::fprintf(stderr, "compllc: a path of an #include has no control character, quote or backslash: --include\n");
      return kUsage;
    }
    const Result<std::string> text = cpu_text(*program, source, include);
    if (!text) {
      std::fprintf(stderr, "%s\n", text.status().message().c_str());
      return kRefused;
    }
    if (wanted.count("cpu") != 0) std::fputs(text->c_str(), stdout);
    if (!options.output.empty() && !write_file(options.output, *text)) {
      std::fprintf(stderr, "compllc: cannot write %s\n", options.output.c_str());
      return kUsage;
    }
  }
  return 0;
}

int run_command(int argc, char** argv) {
  Options options;
  CLI::App app("Compile a codec that is written in CompLL (docs/language.md).", "compllc");
  app.add_option("file", options.files, "Source of the codec: one file, or one with encode and one with decode")
      ->required()
      ->expected(1, 2);
  app.add_option("--emit", options.stages, "Print the results of these stages: tokens, tree, typed, ir, cpu, cuda")
      ->delimiter(',')
      ->check(CLI::IsMember({"tokens", "tree", "typed", "ir", "cpu", "cuda"}));
  app.add_flag("--explain", options.explain,
               "Print the passes over memory, the bytes that they move, and the least possible");
  app.add_flag_callback("--words", print_words,
                        "Print all words that a program may call, one a line, and nothing else");
  app.add_option("-o,--output", options.output, "Write the C++ for CPUs there");
  app.add_option("--include", options.include, "Path by which that text includes itself (default: that of --output)");
  app.add_option("--param", options.settings, "PARAMETER=NUMBER: compile the program for this value");
  app.footer(
      "Exit codes: 0 ok, 1 the program is refused, 2 wrong command line, or a file that cannot be read or written.");
  try {  // CLI11 speaks in exceptions; they end here
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  return run(options);
}

}  // namespace
}  // namespace casync::compll

int main(int argc, char** argv) {
  const int code = casync::compll::run_command(argc, argv);
  const bool failed = std::ferror(stdout) != 0;
  if (std::fflush(stdout) == 0 && !failed) return code;
  std::fprintf(stderr, "compllc: stdout cannot be written\n");  // a full disk has cut off the text
  return casync::compll::kUsage;
}
