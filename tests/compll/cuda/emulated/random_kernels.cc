// SPDX-License-Identifier: Apache-2.0
//
// Compares what generated kernels compute, on a GPU that this host emulates, with what the interpreter computes, for
// programs at random (docs/testing.md). Threads and blocks run in an order that depends on the program. A difference is
// printed with the seed and the program.
#include <dlfcn.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compll/codec/coded/coded_codec.h"
#include "compll/codegen/cuda/codec_text.h"
#include "compll/cuda/cuda_codec.h"
#include "compll/interpreter/program_codec.h"
#include "compll/interpreter/rounds_program.h"
#include "compll/load/headers.h"
#include "tests/compll/cuda/emulated/device.h"
#include "tests/compll/cuda/emulated/driver.h"
#include "tests/compll/cuda/emulated/functions.h"
#include "tests/compll/cuda/emulated/launch.h"
#include "tests/compll/cuda/support/compare.h"
#include "tests/compll/cuda/support/compare_rounds.h"
#include "tests/compll/random_programs/compare.h"
#include "tests/compll/random_programs/random_run.h"
#include "tests/compll/random_programs/shared_object.h"

namespace casync::compll::test {
namespace {

constexpr const char* kEmulation = CASYNC_SOURCES "/tests/compll/cuda/emulated/emulated.h";

/// The table of kernels that a function of a shared object returns; null: there is no such function.
template <class Table>
const Table* table_of(void* object, const std::string& function) {
  const auto found = reinterpret_cast<const Table* (*)()>(::dlsym(object, function.c_str()));
  return found == nullptr ? nullptr : found();
}

class KernelTarget final : public Target {
 public:
  explicit KernelTarget(const bool& kept) : kept_(kept) {}

  Result<std::string> generate(const Program& program, const Source& source) const override {
    const Result<CudaCodecText> made = cuda_codec_text(program, source);
    return made ? Result<std::string>(text_of(*made)) : made.status();
  }

  std::string scope() const override { return "::codec_"; }

  Status load(std::span<const Candidate> candidates, std::uint64_t, const std::string& folder) override {
    const Result<Headers> headers = find_cuda_headers();
    if (!headers) return headers.status();
    std::ifstream emulation(kEmulation);
    ObjectText object{{std::istreambuf_iterator<char>(emulation), {}}, flags(), *headers};
    if (object.text.empty()) return unavailable(std::string("cannot read ") + kEmulation);
    for (const Candidate& each : candidates) object.text += each.generated + "\n";
    const Result<void*> loaded = load_object(object, kept_, folder);
    if (!loaded) return loaded.status();
    loaded_.clear();
    emulated::Functions functions;
    for (const Candidate& each : candidates) {
      Result<CudaCodecText> text = cuda_codec_text(*each.program, Source(each.program->declares.name, each.text));
      if (!text) return text.status();
      const Tables tables = tables_of(*loaded, *text);
      if (std::visit([](const auto* kernels) { return kernels == nullptr; }, tables.kernels)) {
        return compile_error(name_of(*text) + " is not in its shared object");
      }
      std::visit([&](const auto* kernels) { emulated::add(*kernels, functions); }, tables.kernels);
      if (tables.coding != nullptr) emulated::add(*tables.coding, functions);
      loaded_.push_back({std::move(*text), tables});
    }
    emulated::set_functions(functions);
    return Status::ok();
  }

  bool is_by_tiles(std::size_t index) const override { return std::holds_alternative<CudaText>(loaded_[index].text); }

  std::string difference(const Candidate& candidate, std::size_t index) override {
    using emulated::Order;
    for (const Order order : {candidate.seed % 2 == 0 ? Order::kForward : Order::kBackward, Order::kRandom}) {
      const std::string found = difference_in(order, candidate, loaded_[index]);
      if (!found.empty()) return found + (order == Order::kRandom ? ", in a random order" : "");
    }
    return "";
  }

 private:
  /// The flags of the emulated codecs in tests/compll/cuda/CMakeLists.txt.
  static std::vector<std::string> flags() {
    return {"-std=c++20", "-O1", "-fPIC", "-shared", "-w", "-ffp-contract=off", "-fwrapv"};
  }

  /// A program's kernels in its shared object.
  struct Tables {
    std::variant<const cuda::Kernels*, const cuda::VectorFormKernels*, const cuda::RoundsKernels*> kernels;
    const cuda::CodingKernels* coding = nullptr;  ///< null: no section is coded
  };
  struct Loaded {
    CudaCodecText text;
    Tables tables;
  };

  static Tables tables_of(void* object, const CudaCodecText& text) {
    const std::string function = "casync_" + name_of(text), kernels = function + "_kernels";
    Tables tables;
    tables.coding = table_of<cuda::CodingKernels>(object, function + "_coding");
    if (std::holds_alternative<CudaText>(text)) tables.kernels = table_of<cuda::Kernels>(object, kernels);
    if (std::holds_alternative<CudaVectorForm>(text)) {
      tables.kernels = table_of<cuda::VectorFormKernels>(object, kernels);
    }
    if (std::holds_alternative<CudaRounds>(text)) tables.kernels = table_of<cuda::RoundsKernels>(object, kernels);
    return tables;
  }

  static std::string difference_in(emulated::Order order, const Candidate& candidate, const Loaded& loaded) {
    const std::uint64_t seed = candidate.seed;
    emulated::seed_random_order(seed);
    emulated::set_order(order);
    emulated::set_processors(processors_of(seed));
    const Result<std::unique_ptr<CudaDevice>> device = CudaDevice::open(emulated::driver());
    if (!device) return "the device: " + device.status().text();
    const Result<CudaModules> modules = CudaModules::load(**device, std::vector<std::string>{"no machine code"});
    if (!modules) return "the module: " + modules.status().text();
    const auto parameters = random_parameters(*candidate.program, std::holds_alternative<CudaText>(loaded.text), seed);
    const auto compared = [&](const auto& make_meaning, const auto& make_kernels, const auto& compare) -> std::string {
      const auto meaning = make_meaning(candidate.program, parameters);
      if (!meaning) return "the interpreter refuses: " + meaning.status().text();
      const auto kernels = make_kernels(**device, *modules, loaded.text, **meaning);
      if (!kernels) return "the kernels refuse: " + kernels.status().text();
      std::string found = compare(**meaning, **kernels);
      EmulatedDevice alone(order, static_cast<std::uint32_t>(processors_of(seed)));
      if (found.empty()) found = difference_in_batch(candidate, loaded.tables, **meaning, alone);
      if (!found.empty()) return found;
      if (!(*device)->status()) return "the device fails: " + (*device)->status().text();
      return (*kernels)->wrote_outside() ? "a kernel wrote outside of its memory, or did not restore it" : "";
    };
    if (candidate.program->synchronize) {
      return compared(make_rounds_program, make_cuda_rounds, [&](const RoundsCodec& meaning, const RoundsCodec& made) {
        return test::difference(meaning, made, seed);
      });
    }
    return compared(make_program_codec, make_cuda_codec, [&](const Codec& meaning, const Codec& made) {
      return test::difference(*candidate.program, meaning, made, seed, sizes_of(seed));
    });
  }

  /// Compares launches of many vectors, of any type of elements, in memory that need not be aligned.
  static std::string difference_in_batch(const Candidate& candidate, const Tables& tables, const Codec& meaning,
                                         KernelDevice& device) {
    const std::uint64_t seed = candidate.seed;
    const DType dtypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};
    const Codec& plain = without_coding(meaning);
    test::Comparison comparison;
    comparison.merged_sizes = {100 + seed % 77};
    comparison.batch = {4097 + seed % 99};
    comparison.dtype = dtypes[seed % 3];
    comparison.payload_difference = [&](Elements n, const Payload& should, const Payload& is) {
      return payload_difference(*candidate.program, plain, n, is, should);
    };
    KernelDevice* const devices[] = {&device};
    const auto* const tiles = std::get_if<const cuda::Kernels*>(&tables.kernels);
    return tiles != nullptr ? test::difference(**tiles, plain, devices, comparison)
                            : test::difference(*std::get<const cuda::VectorFormKernels*>(tables.kernels), plain,
                                               devices, comparison);
  }
  static std::string difference_in_batch(const Candidate& candidate, const Tables& tables, const RoundsCodec& meaning,
                                         KernelDevice& device) {
    const std::uint64_t seed = candidate.seed;
    return test::difference(*std::get<const cuda::RoundsKernels*>(tables.kernels), meaning, device,
                            {{3, 5 + seed % 60}, {1 + seed % 40, 30}, {0, 2}});
  }

  static int processors_of(std::uint64_t seed) { return static_cast<int>(1 + seed % 5); }

  /// Also one of many tiles.
  static std::vector<Elements> sizes_of(std::uint64_t seed) {
    std::vector<Elements> all = random_sizes(seed);
    all.push_back(20000 + seed % 10000);
    return all;
  }

  const bool& kept_;
  std::vector<Loaded> loaded_;
};

}  // namespace
}  // namespace casync::compll::test

int main(int argc, char** argv) {
  casync::compll::test::RunOptions options;
  options.batch = 25;
  bool kept = false;
  CLI::App app("Compares kernels on an emulated GPU with the interpreter, for random programs", "random_kernels");
  casync::compll::test::add_options(app, options);
  app.add_flag("--kept", kept, "Keep what is compiled in CASYNC_CACHE_DIR, and take it from there");
  CLI11_PARSE(app, argc, argv);
  casync::compll::test::KernelTarget target(kept);
  return casync::compll::test::run(options, target);
}
