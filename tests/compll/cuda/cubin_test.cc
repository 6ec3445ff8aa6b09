// SPDX-License-Identifier: Apache-2.0
//
// NVRTC takes the same text as nvcc: from a program to a GPU's machine code, and the cache of it. No GPU is needed;
// where NVRTC is not there (pip install nvidia-cuda-nvrtc) the whole test is skipped.
#include "compll/cuda/cubin.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "compll/codec/none.h"
#include "compll/codegen/cuda/codec_text.h"
#include "compll/cuda/built_in_text.h"
#include "compll/cuda/kernel_compiler.h"
#include "compll/cuda/shipped_kernels.h"
#include "compll/cuda/sum_program.h"
#include "compll/lang/front_end.h"
#include "compll/load/elf_file.h"
#include "compll/load/headers.h"
#include "tests/compll/support/programs.h"
#include "tests/environment/scoped_variable.h"
#include "tests/support/temporary_directory.h"

namespace casync::compll {
namespace {

namespace fs = std::filesystem;

void skip_without_nvrtc() {
  const Status found = KernelCompiler::find().status();
  if (found) return;
  std::printf("skipped: %s\n", found.message().c_str());
  std::exit(77);
}

/// A cache of the test's own.
class Cache {
 public:
  Cache() : variable_("CASYNC_CACHE_DIR", (folder_.path() + "/cache").c_str()) { skip_without_nvrtc(); }

  std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    for (const auto& each : fs::directory_iterator(folder_.path() + "/cache")) all.push_back(each.path());
    return all;
  }

 private:
  test::TemporaryDirectory folder_;
  ScopedVariable variable_;
};

CudaCodecText text_of_program(const std::string& name, const std::string& program_text) {
  const Source source(name + ".cll", program_text);
  const Result<Program> program = compile(source);
  REQUIRE(program.status().text() == "OK");
  Result<CudaCodecText> text = cuda_codec_text(*program, source);
  REQUIRE(text.status().text() == "OK");
  return std::move(*text);
}

std::string file_in_tests(const std::string& path) {
  std::ifstream file(CASYNC_PROGRAMS "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Checks that all of its kernels are compiled, each by itself.
void check_compiled(const std::string& name, const std::string& program_text,
                    const std::string& architecture = "sm_90") {
  INFO(name);
  const CudaCodecText text = text_of_program(name, program_text);
  const std::vector<std::string> kernels = kernels_of(text);
  CHECK((kernels.back() == "casync_" + name + "_sizes") == !std::holds_alternative<CudaText>(text));
  const Result<Cubin> cubin = cubin_of(text, architecture);
  REQUIRE(cubin.status().text() == "OK");
  REQUIRE(cubin->code.size() == kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    for (const std::string& kernel : kernels) {
      CHECK((cubin->code[i].find(".text." + kernel + '\0') != std::string::npos) == (kernel == kernels[i]));
    }
  }
}

const std::string kSmall = "#include \"compll/ops/cuda/program.cuh\"\nextern \"C\" __global__ void small() {}\n";

Result<Cubin> small_cubin(const std::string& text = kSmall, const std::string& architecture = "sm_90") {
  return cubin_of(CudaText{"small", text, {}, false, false, {"small"}}, architecture);
}

}  // namespace

TEST_CASE("cubin: every codec becomes machine code with its kernels") {
  skip_without_nvrtc();
  const ScopedVariable not_shipped("CASYNC_KERNEL_DIR", "/nowhere");
  for (const std::string& name : written_names()) check_compiled(name, source_of(name));
  for (const std::string& name : written_round_names()) check_compiled(name, source_of(name));
}

TEST_CASE("cubin: GPUs without a warp's reductions as instructions have kernels of every kind, too") {
  skip_without_nvrtc();
  for (const char* name : {"int4", "topk_coded", "powersgd"}) check_compiled(name, source_of(name), "sm_75");
}

TEST_CASE("cubin: so do programs with what no codec has") {
  skip_without_nvrtc();
  check_compiled("trits_vector", file_in_tests("program/trits_vector.cll"));
  check_compiled("turned", file_in_tests("program/turned.cll"));
  check_compiled("rounds", file_in_tests("program/rounds.cll"));
  check_compiled("turns", file_in_tests("cuda/programs/turns.cll"));
}

TEST_CASE("cubin: so do the kernels that stand for identities") {
  skip_without_nvrtc();
  const ScopedVariable not_shipped("CASYNC_KERNEL_DIR", "/nowhere");
  for (const char* name : {kSumProgram, kGreatestIdentity}) {
    INFO(name);
    const Result<CudaCodecText> text = built_in_text(name);
    REQUIRE(text.status().text() == "OK");
    const Result<Cubin> cubin = cubin_of(*text, "sm_90");
    REQUIRE(cubin.status().text() == "OK");
    const std::string codec = "casync_" + std::string(name);
    CHECK(kernels_of(*text) == std::vector<std::string>{codec + "_encode", codec + "_merge", codec + "_decode"});
    CHECK(cubin->code.size() == 3);
  }
}

TEST_CASE("cubin: it is compiled once for each architecture, and then found") {
  const Cache cache;
  const Result<Cubin> first = small_cubin(), again = small_cubin();
  REQUIRE(again.status().text() == "OK");
  CHECK(first->built);
  CHECK_FALSE(again->built);
  CHECK(again->code == first->code);
  CHECK(again->compiler == first->compiler);
  CHECK(first->compiler.starts_with("NVRTC 1"));
  CHECK(small_cubin(kSmall, "sm_80")->built);
  CHECK(cache.files().size() == 2);
}

TEST_CASE("cubin: an entry that is not as it was made is made again") {
  const Cache cache;
  const std::vector<std::string> code = small_cubin()->code;
  REQUIRE(cache.files().size() == 1);
  const fs::path entry = cache.files().front();
  CHECK(entry.extension() == ".cubin");
  fs::resize_file(entry, fs::file_size(entry) / 2);
  const Result<Cubin> again = small_cubin();
  CHECK(again->built);
  CHECK(again->code == code);
  CHECK_FALSE(small_cubin()->built);
}

TEST_CASE("cubin: the build has shipped a codec with all of its kernels") {
  skip_without_nvrtc();
  const Result<CudaCodecText> text = built_in_text("int4");
  const Result<Headers> headers = find_cuda_headers();
  const auto code = ShippedKernels(CASYNC_KERNELS).code(*text, headers->digest, "sm_90");
  REQUIRE(code);
  CHECK(check_elf(*code, kCudaMachine).is_ok());
  for (const std::string& kernel : kernels_of(*text)) {
    CHECK(code->find(".text." + kernel + '\0') != std::string::npos);
  }
}

TEST_CASE("cubin: for a virtual architecture NVRTC makes PTX") {
  skip_without_nvrtc();
  const KernelCompiler& compiler = **KernelCompiler::find();
  std::vector<std::string> options = compiler.options();
  options.push_back("--include-path=" + find_cuda_headers()->folder);
  const std::vector<std::string> kernels = {"small"};
  const Result<std::string> ptx = compiler.compiled(kSmall, kernels, "compute_90", options);
  REQUIRE(ptx.status().text() == "OK");
  CHECK(ptx->find(".target sm_90") != std::string::npos);
  const std::vector<std::string> others = {"small", "large"};
  CHECK_THAT(compiler.compiled(kSmall, others, "compute_90", options).status().message(),
             Catch::StartsWith("kernels small, large: NVRTC 1") && Catch::Contains("made what is no such kernel"));
}

TEST_CASE("cubin: a cache that cannot be used is done without") {
  const Cache cache;
  const ScopedVariable nowhere("CASYNC_CACHE_DIR", "/dev/null/cache");
  const test::TemporaryDirectory temporary;
  const ScopedVariable spare("TMPDIR", temporary.path().c_str());
  std::ofstream(temporary.path() + "/casync-cache-" + std::to_string(::geteuid()));  // a file instead of a folder
  CHECK(small_cubin()->built);
  CHECK(small_cubin()->built);
}

TEST_CASE("cubin: a text that is refused stays, with what was said of it") {
  const Cache cache;
  const Status status = small_cubin(kSmall + "static_assert(sizeof(int) == 3);\n").status();
  CHECK(status.code() == StatusCode::kCompileError);
  CHECK_THAT(status.message(), Catch::Contains("refuses what was generated for sm_90"));
  CHECK_THAT(status.message(), Catch::Contains("static assertion failed"));
  REQUIRE(cache.files().size() == 1);
  CHECK_THAT(status.message(), Catch::Contains("the text is " + cache.files().front().string()));
}

TEST_CASE("cubin: an architecture that NVRTC does not know, and headers that are not there") {
  const Cache cache;
  CHECK(small_cubin(kSmall, "sm_12345").status().code() == StatusCode::kUnavailable);
  const ScopedVariable nowhere("CASYNC_INCLUDE_DIR", "/nowhere");
  const Status status = small_cubin().status();
  CHECK(status.code() == StatusCode::kUnavailable);
  CHECK_THAT(status.message(), Catch::Contains("compll/ops/cuda") && Catch::Contains("/nowhere"));
}

}  // namespace casync::compll
