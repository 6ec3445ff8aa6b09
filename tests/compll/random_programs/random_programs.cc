// SPDX-License-Identifier: Apache-2.0
//
// Compares what generated C++ computes with what the interpreter computes, for programs at random
// (docs/testing.md). A difference is printed with the seed and the program.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "compll/codec/generated_codec.h"
#include "compll/codec/rounds_generated.h"
#include "compll/codegen/cpu/cpu.h"
#include "compll/interpreter/program_codec.h"
#include "compll/interpreter/rounds_program.h"
#include "tests/compll/random_programs/batch.h"
#include "tests/compll/random_programs/compare.h"
#include "tests/compll/random_programs/random_run.h"

namespace casync::compll::test {
namespace {

struct Options {
  RunOptions run;
  std::uint64_t optimized = 16;  ///< one batch in so many is compiled as codec files are; 0: none
  std::uint64_t most = 9001;
  std::vector<std::string> sets = {"native"};
  bool kept = false;
};

class CpuTarget final : public Target {
 public:
  explicit CpuTarget(const Options& options) : options_(options) {}

  Result<std::string> generate(const Program& program, const Source& source) const override {
    return cpu_text(program, source, "codec.cc");
  }

  std::string scope() const override { return "::"; }

  Status load(std::span<const Candidate> candidates, std::uint64_t batch, const std::string& folder) override {
    std::vector<std::string> names, texts;
    for (const Candidate& each : candidates) {
      names.push_back(each.program->declares.name);
      texts.push_back(each.generated);
    }
    const CompilerSettings settings = {options_.sets[batch % options_.sets.size()],
                                       options_.optimized != 0 && batch % options_.optimized == options_.optimized - 1,
                                       options_.kept};
    Result<std::vector<const GeneratedCodec*>> codecs = compile_batch(names, texts, settings, folder);
    if (codecs) codecs_ = std::move(*codecs);
    return codecs.status();
  }

  bool is_by_tiles(std::size_t index) const override { return codecs_[index]->encode.tile != nullptr; }

  std::string difference(const Candidate& candidate, std::size_t index) override {
    if (candidate.program->synchronize) return difference_of_rounds(candidate, index);
    const auto parameters = random_parameters(*candidate.program, is_by_tiles(index), candidate.seed);
    const Result<std::unique_ptr<Codec>> meaning = make_program_codec(candidate.program, parameters);
    if (!meaning) return "the interpreter refuses: " + meaning.status().text();
    const Result<std::unique_ptr<Codec>> compiled = make_generated_codec(*codecs_[index], parameters);
    if (!compiled) return "the compiled codec refuses: " + compiled.status().text();
    std::vector<Elements> sizes = random_sizes(candidate.seed);
    std::erase_if(sizes, [&](Elements n) { return n > options_.most; });
    return test::difference(*candidate.program, **meaning, **compiled, candidate.seed, sizes);
  }

 private:
  std::string difference_of_rounds(const Candidate& candidate, std::size_t index) const {
    const auto parameters = random_parameters(*candidate.program, false, candidate.seed);
    const Result<std::unique_ptr<RoundsCodec>> meaning = make_rounds_program(candidate.program, parameters);
    if (!meaning) return "the interpreter refuses: " + meaning.status().text();
    const Result<std::unique_ptr<RoundsCodec>> compiled = make_generated_rounds(*codecs_[index], parameters);
    if (!compiled) return "the compiled codec refuses: " + compiled.status().text();
    return test::difference(**meaning, **compiled, candidate.seed);
  }

  const Options& options_;
  std::vector<const GeneratedCodec*> codecs_;
};

}  // namespace
}  // namespace casync::compll::test

int main(int argc, char** argv) {
  casync::compll::test::Options options;
  CLI::App app("Compares generated C++ with the interpreter, for random programs", "random_programs");
  casync::compll::test::add_options(app, options.run);
  app.add_option("--sets", options.sets, "Instruction sets, in turn: native, avx2, sse4, plain")->delimiter(',');
  app.add_option("--optimized", options.optimized, "One batch in so many is compiled with -O3; 0: none");
  app.add_option("--most", options.most, "The largest number of elements");
  app.add_flag("--kept", options.kept, "Keep what is compiled in CASYNC_CACHE_DIR, and take it from there");
  CLI11_PARSE(app, argc, argv);
  casync::compll::test::CpuTarget target(options);
  return casync::compll::test::run(options.run, target);
}
