// SPDX-License-Identifier: Apache-2.0
//
// NVRTC takes the same text as nvcc: from a program to a GPU's machine code, and the cache of it. No GPU is needed;
// where NVRTC is not there (pip install nvidia-cuda-nvrtc) the whole test is skipped.
#include "compll/cuda/cubin.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "compll/codegen/cuda_codec.h"
#include "compll/cuda/nvrtc.h"
#include "compll/lang/front_end.h"
#include "tests/compll/support/programs.h"
#include "tests/environment/scoped_variable.h"
#include "tests/support/temporary_directory.h"

namespace casync::compll {
namespace {

namespace fs = std::filesystem;

/// A cache of the test's own.
class Cache {
 public:
  Cache() : variable_("CASYNC_CACHE_DIR", (folder_.path() + "/cache").c_str()) {
    const Status found = Nvrtc::find().status();
    if (found) return;
    std::printf("skipped: %s\n", found.message().c_str());
    std::exit(77);
  }

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

/// That all of its kernels are there.
void check_compiled(const std::string& name, const std::string& program_text) {
  INFO(name);
  const CudaCodecText text = text_of_program(name, program_text);
  const Result<Cubin> cubin = cubin_of(text_of(text), "sm_90");
  REQUIRE(cubin.status().text() == "OK");
  CHECK(cubin->built);
  const auto has = [&](const std::string& kernel) { return cubin->code.find(kernel) != std::string::npos; };
  std::visit([&](const auto& each) { CHECK(std::all_of(each.kernels.begin(), each.kernels.end(), has)); }, text);
  CHECK(has("casync_" + name + "_sizes") == !std::holds_alternative<CudaText>(text));
}

const std::string kSmall = "#include \"compll/ops/cuda/program.cuh\"\nextern \"C\" __global__ void small() {}\n";

}  // namespace

TEST_CASE("cubin: every codec becomes machine code with its kernels") {
  const Cache cache;
  for (const std::string& name : written_names()) check_compiled(name, source_of(name));
  for (const std::string& name : written_round_names()) check_compiled(name, source_of(name));
}

TEST_CASE("cubin: so do programs with what no codec has") {
  const Cache cache;
  check_compiled("trits_whole", file_in_tests("program/trits_whole.cll"));
  check_compiled("turned", file_in_tests("program/turned.cll"));
  check_compiled("rounds", file_in_tests("program/rounds.cll"));
  check_compiled("turns", file_in_tests("cuda/programs/turns.cll"));
}

TEST_CASE("cubin: it is compiled once for each architecture, and then found") {
  const Cache cache;
  const Result<Cubin> first = cubin_of(kSmall, "sm_90"), again = cubin_of(kSmall, "sm_90");
  REQUIRE(again.status().text() == "OK");
  CHECK(first->built);
  CHECK_FALSE(again->built);
  CHECK(again->code == first->code);
  CHECK(again->compiler == first->compiler);
  CHECK(first->compiler.starts_with("NVRTC 1"));
  CHECK(cubin_of(kSmall, "sm_80")->built);
  CHECK(cache.files().size() == 2);
}

TEST_CASE("cubin: an entry that is not as it was made is made again") {
  const Cache cache;
  const std::string code = cubin_of(kSmall, "sm_90")->code;
  REQUIRE(cache.files().size() == 1);
  const fs::path entry = cache.files().front();
  CHECK(entry.extension() == ".cubin");
  fs::resize_file(entry, fs::file_size(entry) / 2);
  const Result<Cubin> again = cubin_of(kSmall, "sm_90");
  CHECK(again->built);
  CHECK(again->code == code);
  CHECK_FALSE(cubin_of(kSmall, "sm_90")->built);
}

TEST_CASE("cubin: a cache that cannot be used is done without") {
  const Cache cache;
  const ScopedVariable nowhere("CASYNC_CACHE_DIR", "/dev/null/cache");
  CHECK(cubin_of(kSmall, "sm_90")->built);
  CHECK(cubin_of(kSmall, "sm_90")->built);
}

TEST_CASE("cubin: a text that is refused stays, with what was said of it") {
  const Cache cache;
  const Status status = cubin_of(kSmall + "static_assert(sizeof(int) == 3);\n", "sm_90").status();
  CHECK(status.code() == StatusCode::kCompileError);
  CHECK_THAT(status.message(), Catch::Contains("refuses what was generated for sm_90"));
  CHECK_THAT(status.message(), Catch::Contains("static assertion failed"));
  REQUIRE(cache.files().size() == 1);
  CHECK_THAT(status.message(), Catch::Contains("the text is " + cache.files().front().string()));
}

TEST_CASE("cubin: an architecture that NVRTC does not know, and headers that are not there") {
  const Cache cache;
  CHECK(cubin_of(kSmall, "sm_12345").status().code() == StatusCode::kUnavailable);
  const ScopedVariable nowhere("CASYNC_INCLUDE_DIR", "/nowhere");
  const Status status = cubin_of(kSmall, "sm_90").status();
  CHECK(status.code() == StatusCode::kUnavailable);
  CHECK_THAT(status.message(), Catch::Contains("compll/ops/cuda") && Catch::Contains("/nowhere"));
}

}  // namespace casync::compll
