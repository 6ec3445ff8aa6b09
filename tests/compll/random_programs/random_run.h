// SPDX-License-Identifier: Apache-2.0
//
// Runs of random programs: for each batch of seeds it writes programs, lets a target compile them together, and
// compares what they compute with the interpreter, in a process of its own (docs/testing.md).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compll/lang/program.h"
#include "compll/lang/source.h"

namespace CLI {
class App;
}

namespace casync::compll::test {

struct RunOptions {
  std::uint64_t seed = 1, count = 100;
  std::uint64_t batch = 50;  ///< programs in one shared object
  unsigned seconds = 900;    ///< for the comparisons of one batch
  std::string keep;          ///< a folder for programs that differ; empty: none
  bool print = false;        ///< programs that differ
  bool rounds = false;       ///< programs that exchange within a step
};

/// Adds --seed, --count and so on to the options of a program.
void add_options(CLI::App& app, RunOptions& options);

struct Candidate {
  std::uint64_t seed = 0;
  std::string text;
  std::shared_ptr<const Program> program;
  std::string generated;  ///< the text for the target's compiler
};

/// The generator and the compiler that are tested.
class Target {
 public:
  virtual ~Target() = default;

  /// Returns the text for the compiler. Unimplemented: only the interpreter runs this program.
  virtual Result<std::string> generate(const Program& program, const Source& source) const = 0;
  /// The scope that the compiler names in an error of a program, without the program's name.
  virtual std::string scope() const = 0;
  /// Compiles and loads programs, all together, in place of those that were loaded last. `batch` counts batches: a part
  /// of one has its number. CompileError: the compiler's message.
  virtual Status load(std::span<const Candidate> candidates, std::uint64_t batch, const std::string& folder) = 0;
  /// Returns true if a loaded program works by tiles.
  virtual bool is_by_tiles(std::size_t index) const = 0;
  /// Compares a loaded program with its meaning. Returns the first difference; "" if there is none.
  virtual std::string difference(const Candidate& candidate, std::size_t index) = 0;
};

/// Values of parameters that the program allows; the same ones for the same seed.
std::vector<std::pair<std::string, double>> random_parameters(const Program& program, bool by_tiles,
                                                              std::uint64_t seed);

/// Runs, and prints each difference with its seed, and the counts so far after each batch. Returns the exit code: 0 if
/// programs were compared and none differs.
int run(const RunOptions& options, Target& target);

}  // namespace casync::compll::test
