// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/random_programs/random_run.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>

#include "base/check.h"
#include "compll/lang/front_end.h"
#include "tests/compll/random_programs/program_writer.h"
#include "tests/compll/random_programs/rounds_writer.h"
#include "tests/support/temporary_directory.h"

namespace casync::compll::test {
namespace {

/// Counts of the comparisons so far, in memory that the children share.
struct Tally {
  std::uint64_t compared, tiles, refused, differences, now;
};

/// Counts that begin at zero.
Tally& shared_tally() {
  void* const memory = ::mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CASYNC_CHECK(memory != MAP_FAILED);
  return *static_cast<Tally*>(memory);
}

using Candidates = std::vector<Candidate>;

class Run {
 public:
  Run(const RunOptions& options, Target& target) : options_(options), target_(target) {}

  int all() {
    std::uint64_t number = 0;
    const std::uint64_t end = options_.seed + options_.count;
    for (std::uint64_t begin = options_.seed; begin < end; begin += options_.batch, ++number) {
      const Candidates candidates = candidates_from(begin, std::min(begin + options_.batch, end));
      if (!candidates.empty()) run_batch(candidates, number);
      print_tally();
    }
    return tally_.differences == 0 && tally_.compared != 0 ? 0 : 1;
  }

 private:
  /// Prints the counts so far: a run of many batches takes hours.
  void print_tally() const {
    const auto as_number = [](std::uint64_t count) { return static_cast<unsigned long long>(count); };
    std::printf("%llu programs compared, %llu of them by tiles; %llu cannot be compiled; %llu differences\n",
                as_number(tally_.compared), as_number(tally_.tiles), as_number(tally_.refused),
                as_number(tally_.differences));
    std::fflush(stdout);
  }

  void report(std::uint64_t seed, const std::string& text, const std::string& what) {
    ++tally_.differences;
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), what.c_str());
    if (options_.print) std::printf("%s\n", text.c_str());
    if (!options_.keep.empty()) std::ofstream(options_.keep + "/" + std::to_string(seed) + ".cll") << text;
    std::fflush(stdout);
  }

  /// The programs of a batch that can be compiled.
  Candidates candidates_from(std::uint64_t begin, std::uint64_t end) {
    Candidates all;
    for (std::uint64_t seed = begin; seed < end; ++seed) {
      const std::string text = options_.rounds ? random_rounds(seed) : random_program(seed);
      const Source source("seed" + std::to_string(seed) + ".cll", text);
      Result<Program> program = compile(source);
      if (!program) {
        report(seed, text, "refused: " + program.status().message());
        continue;
      }
      program->declares.name = "p" + std::to_string(seed);
      const Result<std::string> made = target_.generate(*program, source);
      if (made) {
        all.push_back({seed, text, std::make_shared<const Program>(std::move(*program)), *made});
      } else {
        ++tally_.refused;
      }
    }
    return all;
  }

  void run_batch(const Candidates& candidates, std::uint64_t number) {
    const casync::test::TemporaryDirectory folder;
    const Status status = target_.load(candidates, number, folder.path());
    if (status) return compare_apart(candidates);
    if (candidates.size() > 1) return run_parts(candidates, number, status.message());
    report(candidates[0].seed, candidates[0].text, status.message());
  }

  /// After an error of the compiler: the programs that it names one by one, and all others together.
  void run_parts(const Candidates& candidates, std::uint64_t number, const std::string& message) {
    Candidates others, named;
    for (const Candidate& each : candidates) {
      const std::string scope = target_.scope() + each.program->declares.name + "::";
      (message.find(scope) == message.npos ? others : named).push_back(each);
    }
    const bool is_any_named = !named.empty();
    for (const Candidate& each : is_any_named ? named : others) run_batch({each}, number);
    if (is_any_named && !others.empty()) run_batch(others, number);
  }

  /// Compares in a process of its own: generated code that crashes, ends the process or hangs is a difference like
  /// another.
  void compare_apart(const Candidates& candidates) {
    std::fflush(stdout);
    const std::uint64_t before = tally_.compared;
    const pid_t child = ::fork();
    CASYNC_CHECK(child >= 0);
    if (child == 0) {
      ::alarm(options_.seconds);
      compare_batch(candidates);
      std::fflush(stdout);
      ::_exit(0);
    }
    int status = 0;
    CASYNC_CHECK(::waitpid(child, &status, 0) == child);
    if (status == 0 && tally_.compared == before + candidates.size()) return;
    // A sanitizer's error is an exit code. The others of the batch are not compared.
    const auto now = std::find_if(candidates.begin(), candidates.end(),
                                  [&](const Candidate& each) { return each.seed == tally_.now; });
    const Candidate& last = now == candidates.end() ? candidates.front() : *now;
    const std::string how = WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                                : "exit code " + std::to_string(WEXITSTATUS(status));
    report(last.seed, last.text, how + " ended the comparison");
  }

  void compare_batch(const Candidates& candidates) {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      tally_.now = candidates[i].seed;
      const std::string found = target_.difference(candidates[i], i);
      ++tally_.compared;
      tally_.tiles += target_.is_by_tiles(i) ? 1 : 0;
      if (!found.empty()) report(candidates[i].seed, candidates[i].text, found);
    }
  }

  const RunOptions& options_;
  Target& target_;
  Tally& tally_ = shared_tally();
};

}  // namespace

void add_options(CLI::App& app, RunOptions& options) {
  app.add_option("--seed", options.seed, "The first program's seed");
  app.add_option("--count", options.count, "Programs");
  app.add_option("--batch", options.batch, "Programs in one shared object")->check(CLI::PositiveNumber);
  app.add_option("--seconds", options.seconds, "The most that the comparisons of one batch may take");
  app.add_option("--keep", options.keep, "A folder for programs that differ");
  app.add_flag("--print", options.print, "Print programs that differ");
  app.add_flag("--rounds", options.rounds, "Programs that exchange within a step");
}

std::vector<std::pair<std::string, double>> random_parameters(const Program& program, bool by_tiles,
                                                              std::uint64_t seed) {
  std::vector<std::pair<std::string, double>> chosen;
  if (seed % 2 == 0) return chosen;
  for (const ProgramParameter& each : program.parameters) {
    if (!each.choices.empty()) {
      chosen.push_back({each.name, each.choices[seed / 2 % each.choices.size()]});
    } else if (each.name == "block") {
      const double sizes[] = {16, 64, 48, 7, 100, 4096, 128, 1000};
      const double size = by_tiles ? (seed % 4 == 1 ? 64 : 1024) : sizes[seed / 2 % 8];
      if (each.allows(size)) chosen.push_back({each.name, size});
    } else if (each.type.is_float()) {
      chosen.push_back({each.name, -1.5});
    } else {
      chosen.push_back({each.name, std::min(each.least + static_cast<double>(seed % 40), each.most)});
    }
  }
  return chosen;
}

int run(const RunOptions& options, Target& target) { return Run(options, target).all(); }

}  // namespace casync::compll::test
