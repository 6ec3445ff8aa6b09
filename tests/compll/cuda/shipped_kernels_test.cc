// SPDX-License-Identifier: Apache-2.0
//
// Kernels that the library was shipped with, on a machine without NVRTC.
#include "compll/cuda/shipped_kernels.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "compll/cuda/cubin.h"
#include "compll/load/headers.h"
#include "tests/environment/scoped_variable.h"
#include "tests/support/temporary_directory.h"

namespace casync::compll {
namespace {

namespace fs = std::filesystem;

CudaCodecText text_of_small(const std::string& text = "the text\n") {
  return CudaText{"small", text, {}, false, false, {"small"}};
}

/// A folder of shipped kernels, and no NVRTC.
class Machine {
 public:
  Machine()
      : kernels_("CASYNC_KERNEL_DIR", folder_.path().c_str()),
        nvrtc_("CASYNC_NVRTC", "/nowhere"),
        headers_(find_cuda_headers()->digest) {}

  /// Ships code for these architectures that says for which one it is.
  void ship(const std::vector<std::string>& architectures, const CudaCodecText& codec = text_of_small()) const {
    for (const std::string& each : architectures) {
      REQUIRE(ShippedKernels(folder_.path()).write(codec, headers_, each, "for " + each).is_ok());
    }
  }
  fs::path file(const std::string& architecture) const { return fs::path(folder_.path()) / architecture / "small"; }
  const std::string& headers() const { return headers_; }

 private:
  test::TemporaryDirectory folder_;
  ScopedVariable kernels_, nvrtc_;
  std::string headers_;
};

/// The code that a device gets, or the error.
std::string code_on(const std::string& device) {
  const Result<Cubin> cubin = cubin_of(text_of_small(), device);
  return cubin ? cubin->code.at(0) : cubin.status().text();
}

constexpr const char* kNone = "Unavailable: CASYNC_NVRTC=/nowhere is no library that can be loaded";

}  // namespace

TEST_CASE("shipped kernels: machine code runs on its major version from its minor version on, PTX on all later ones") {
  CHECK(runs_on("sm_90", "sm_90"));
  CHECK(runs_on("sm_80", "sm_86"));
  CHECK(runs_on("sm_80", "sm_89"));
  CHECK_FALSE(runs_on("sm_86", "sm_80"));
  CHECK_FALSE(runs_on("sm_80", "sm_90"));
  CHECK_FALSE(runs_on("sm_100", "sm_90"));
  CHECK(runs_on("sm_100", "sm_103"));
  CHECK_FALSE(runs_on("sm_100", "sm_120"));
  CHECK_FALSE(runs_on("sm_80", "sm_87"));
  CHECK(runs_on("sm_87", "sm_87"));
  CHECK_FALSE(runs_on("sm_87", "sm_89"));
  CHECK(runs_on("compute_100", "sm_120"));
  CHECK(runs_on("compute_80", "sm_87"));
  CHECK_FALSE(runs_on("compute_100", "sm_90"));
  CHECK_FALSE(runs_on("sm_90a", "sm_90"));
  CHECK_FALSE(runs_on("notes", "sm_90"));
}

TEST_CASE("shipped kernels: a device gets its own machine code, else the next lower one, else PTX") {
  const Machine machine;
  machine.ship({"compute_100", "sm_80", "sm_86", "sm_90"});
  CHECK(code_on("sm_80") == "for sm_80");
  CHECK(code_on("sm_86") == "for sm_86");
  CHECK(code_on("sm_89") == "for sm_86");
  CHECK(code_on("sm_90") == "for sm_90");
  CHECK(code_on("sm_120") == "for compute_100");
  CHECK(code_on("sm_75") == kNone);
  CHECK(ShippedKernels::find().architectures() == std::vector<std::string>{"sm_80", "sm_86", "sm_90", "compute_100"});
  CHECK(ShippedKernels::find().codecs("sm_80") == std::vector<std::string>{"small"});
  const Result<Cubin> cubin = cubin_of(text_of_small(), "sm_90");
  CHECK(cubin->compiler == "the build of casync");
  CHECK_FALSE(cubin->built);
}

TEST_CASE("shipped kernels: kernels of another text, of other headers or for another architecture are not used") {
  const Machine machine;
  CHECK(code_on("sm_90") == kNone);
  machine.ship({"sm_90"}, text_of_small("another text\n"));
  CHECK(code_on("sm_90") == kNone);
  machine.ship({"sm_80"});
  fs::copy_file(machine.file("sm_80"), machine.file("sm_90"), fs::copy_options::overwrite_existing);
  CHECK(code_on("sm_90") == kNone);
  machine.ship({"sm_90"});
  CHECK(code_on("sm_90") == "for sm_90");
  const ShippedKernels shipped = ShippedKernels::find();
  CHECK(shipped.code(text_of_small(), machine.headers(), "sm_90") == "for sm_90");
  CHECK_FALSE(shipped.code(text_of_small(), "other headers", "sm_90"));
}

TEST_CASE("shipped kernels: a file that is damaged or cut off is not used") {
  const Machine machine;
  machine.ship({"sm_90"});
  std::ifstream file(machine.file("sm_90"), std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  REQUIRE(whole.size() > 20);
  REQUIRE(code_on("sm_90") == "for sm_90");
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] ^= 1;
    std::ofstream(machine.file("sm_90"), std::ios::binary) << damaged;
    CHECK(code_on("sm_90") == kNone);
    std::ofstream(machine.file("sm_90"), std::ios::binary) << whole.substr(0, at);
    CHECK(code_on("sm_90") == kNone);
  }
}

}  // namespace casync::compll
