// SPDX-License-Identifier: Apache-2.0
//
// Compares what generated C++ computes with what the interpreter computes, for programs at random
// (docs/testing.md). A difference is printed with the seed and the program.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <set>
#include <vector>

#include "base/check.h"
#include "compll/codec/generated_codec.h"
#include "compll/codegen/cpu/cpu.h"
#include "compll/interpreter/program_codec.h"
#include "compll/lang/front_end.h"
#include "tests/compll/random_programs/batch.h"
#include "tests/compll/random_programs/compare.h"
#include "tests/compll/random_programs/program_writer.h"
#include "tests/support/temporary_directory.h"

namespace casync::compll::test {
namespace {

struct Options {
  std::uint64_t seed = 1;
  std::uint64_t count = 100, batch = 50;
  std::uint64_t optimized = 16;  ///< one batch in so many is compiled as codec files are; 0: none
  std::uint64_t most = 9001;
  unsigned seconds = 900;  ///< for the comparisons of one batch
  std::vector<std::string> sets = {"native"};
  std::string keep;
  bool print = false;
  bool kept = false;
};

/// Counts of the comparisons so far, in memory that the children share.
struct Tally {
  std::uint64_t compared, tiles, interpreted, differences, now;
};

struct Candidate {
  std::uint64_t seed;
  std::string text;
  std::shared_ptr<const Program> program;
};

void report(const Options& options, std::uint64_t seed, const std::string& text, const std::string& what) {
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), what.c_str());
  if (options.print) std::printf("%s\n", text.c_str());
  if (!options.keep.empty()) std::ofstream(options.keep + "/" + std::to_string(seed) + ".cll") << text;
  std::fflush(stdout);
}

/// Values of parameters that the program allows; for the same seed the same ones.
std::vector<std::pair<std::string, double>> parameters_of(const Program& program, const GeneratedCodec& generated,
                                                          std::uint64_t seed) {
  std::vector<std::pair<std::string, double>> chosen;
  if (seed % 2 == 0) return chosen;
  for (const ProgramParameter& each : program.parameters) {
    if (!each.choices.empty()) {
      chosen.push_back({each.name, each.choices[seed / 2 % each.choices.size()]});
    } else if (each.name == "block") {
      const double sizes[] = {16, 64, 48, 7, 100, 4096, 128, 1000};
      const double size = generated.encode.tile != nullptr ? (seed % 4 == 1 ? 64 : 1024) : sizes[seed / 2 % 8];
      if (each.allows(size)) chosen.push_back({each.name, size});
    } else {
      chosen.push_back({each.name, each.name == "k" ? 1 + seed % 40 : -1.5});
    }
  }
  return chosen;
}

std::string compare(const Candidate& candidate, const GeneratedCodec& generated, Elements most) {
  const auto parameters = parameters_of(*candidate.program, generated, candidate.seed);
  const Result<std::unique_ptr<Codec>> meaning = make_program_codec(candidate.program, parameters);
  if (!meaning) return "the interpreter refuses: " + meaning.status().text();
  const Result<std::unique_ptr<Codec>> compiled = make_generated_codec(generated, parameters);
  if (!compiled) return "the compiled codec refuses: " + compiled.status().text();
  return difference(*candidate.program, **meaning, **compiled, candidate.seed, most);
}

void compare_batch(const Options& options, const std::vector<Candidate>& candidates,
                   const std::vector<const GeneratedCodec*>& codecs, Tally& tally) {
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    tally.now = candidates[i].seed;
    const std::string found = compare(candidates[i], *codecs[i], options.most);
    ++tally.compared;
    tally.tiles += codecs[i]->encode.tile != nullptr ? 1 : 0;
    if (found.empty()) continue;
    ++tally.differences;
    report(options, candidates[i].seed, candidates[i].text, found);
  }
}

/// Compares in a process of its own: generated code that crashes or hangs is a difference like another.
void compare_apart(const Options& options, const std::vector<Candidate>& candidates,
                   const std::vector<const GeneratedCodec*>& codecs, Tally& tally) {
  const pid_t child = ::fork();
  CASYNC_CHECK(child >= 0);
  if (child == 0) {
    ::alarm(options.seconds);
    compare_batch(options, candidates, codecs, tally);
    std::fflush(stdout);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFSIGNALED(status)) return;
  ++tally.differences;
  for (const Candidate& each : candidates) {
    if (each.seed != tally.now) continue;
    report(options, each.seed, each.text, "signal " + std::to_string(WTERMSIG(status)) + " ended the comparison");
  }
}

/// The programs of a batch that can be compiled.
std::vector<Candidate> candidates_from(const Options& options, std::uint64_t begin, std::uint64_t end,
                                       std::vector<std::string>& texts, Tally& tally) {
  std::vector<Candidate> all;
  for (std::uint64_t seed = begin; seed < end; ++seed) {
    const std::string text = random_program(seed);
    const Source source("seed" + std::to_string(seed) + ".cll", text);
    Result<Program> program = compile(source);
    if (!program) {
      ++tally.differences;
      report(options, seed, text, "refused: " + program.status().message());
      continue;
    }
    program->declares.name = "p" + std::to_string(seed);
    const Result<std::string> made = cpu_text(*program, source, "codec.cc");
    if (!made) {
      ++tally.interpreted;
      continue;
    }
    texts.push_back(*made);
    all.push_back({seed, text, std::make_shared<const Program>(std::move(*program))});
  }
  return all;
}

void run_batch(const Options& options, const std::vector<Candidate>& candidates, const std::vector<std::string>& texts,
               const CompilerSettings& settings, Tally& tally);

/// After an error of the compiler: the programs that it names one by one, and all others together.
void run_parts(const Options& options, const std::vector<Candidate>& candidates, const std::vector<std::string>& texts,
               const CompilerSettings& settings, const std::string& message, Tally& tally) {
  std::vector<Candidate> others;
  std::vector<std::string> texts_of_others;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::string name = candidates[i].program->declares.name + "::";
    if (message.find("::" + name) != message.npos) {
      run_batch(options, {candidates[i]}, {texts[i]}, settings, tally);
    } else {
      others.push_back(candidates[i]);
      texts_of_others.push_back(texts[i]);
    }
  }
  if (others.size() < candidates.size()) {
    if (!others.empty()) run_batch(options, others, texts_of_others, settings, tally);
    return;
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) run_batch(options, {candidates[i]}, {texts[i]}, settings, tally);
}

void run_batch(const Options& options, const std::vector<Candidate>& candidates, const std::vector<std::string>& texts,
               const CompilerSettings& settings, Tally& tally) {
  std::vector<std::string> names;
  for (const Candidate& each : candidates) names.push_back(each.program->declares.name);
  const casync::test::TemporaryDirectory folder;
  const Result<std::vector<const GeneratedCodec*>> codecs = compile_batch(names, texts, settings, folder.path());
  if (codecs) return compare_apart(options, candidates, *codecs, tally);
  if (candidates.size() > 1) return run_parts(options, candidates, texts, settings, codecs.status().message(), tally);
  ++tally.differences;
  report(options, candidates[0].seed, candidates[0].text, codecs.status().message());
}

int run(const Options& options) {
  auto& tally =
      *static_cast<Tally*>(::mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::uint64_t number = 0;
  for (std::uint64_t begin = options.seed; begin < options.seed + options.count; begin += options.batch, ++number) {
    const std::uint64_t end = std::min(begin + options.batch, options.seed + options.count);
    std::vector<std::string> texts;
    const std::vector<Candidate> candidates = candidates_from(options, begin, end, texts, tally);
    if (candidates.empty()) continue;
    const CompilerSettings settings = {options.sets[number % options.sets.size()],
                                       options.optimized != 0 && number % options.optimized == options.optimized - 1,
                                       options.kept};
    run_batch(options, candidates, texts, settings, tally);
  }
  std::printf("%llu programs compared, %llu of them by tiles; %llu cannot be compiled; %llu differences\n",
              static_cast<unsigned long long>(tally.compared), static_cast<unsigned long long>(tally.tiles),
              static_cast<unsigned long long>(tally.interpreted), static_cast<unsigned long long>(tally.differences));
  return tally.differences == 0 && tally.compared != 0 ? 0 : 1;
}

}  // namespace
}  // namespace casync::compll::test

int main(int argc, char** argv) {
  casync::compll::test::Options options;
  CLI::App app("Compares generated C++ with the interpreter, for random programs", "random_programs");
  app.add_option("--seed", options.seed, "The first program's seed");
  app.add_option("--count", options.count, "Programs");
  app.add_option("--batch", options.batch, "Programs in one shared object")->check(CLI::PositiveNumber);
  app.add_option("--sets", options.sets, "Instruction sets, in turn: native, avx2, sse4, plain")->delimiter(',');
  app.add_option("--optimized", options.optimized, "One batch in so many is compiled with -O3; 0: none");
  app.add_option("--most", options.most, "The largest number of elements");
  app.add_option("--seconds", options.seconds, "The most that the comparisons of one batch may take");
  app.add_option("--keep", options.keep, "A folder for programs that differ");
  app.add_flag("--print", options.print, "Print programs that differ");
  app.add_flag("--kept", options.kept, "Keep what is compiled in CASYNC_CACHE_DIR, and take it from there");
  CLI11_PARSE(app, argc, argv);
  return casync::compll::test::run(options);
}
