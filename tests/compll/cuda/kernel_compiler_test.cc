// SPDX-License-Identifier: Apache-2.0
//
// NVRTC in a process of its own, with a library in its place that crashes, hangs and makes nonsense.
#include "compll/cuda/kernel_compiler.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "compll/cuda/cubin.h"
#include "compll/cuda/shipped_kernels.h"
#include "compll/load/headers.h"
#include "tests/environment/scoped_variable.h"
#include "tests/support/temporary_directory.h"

namespace casync::compll {
namespace {

/// A cache of the test's own, and an NVRTC that does as it is told.
class Fake {
 public:
  explicit Fake(const std::string& wish)
      : cache_("CASYNC_CACHE_DIR", (folder_.path() + "/cache").c_str()),
        library_("CASYNC_NVRTC", CASYNC_FAKE_NVRTC),
        wish_("FAKE_NVRTC", wish.c_str()) {}

  Result<Cubin> cubin() const { return cubin_of(text(), "sm_90"); }
  static CudaCodecText text() { return CudaText{"small", "the text\n", {}, false, false, {"small"}}; }
  Status refusal() const { return cubin().status(); }
  const std::string& folder() const { return folder_.path(); }

 private:
  test::TemporaryDirectory folder_;
  ScopedVariable cache_, library_, wish_;
};

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void check_compile_error(const std::string& wish, const std::string& expected) {
  INFO(wish);
  const Status status = Fake(wish).refusal();
  CHECK(status.code() == StatusCode::kCompileError);
  CHECK_THAT(status.message(), Catch::Contains("kernel small: NVRTC 13.0 " + expected));
  CHECK_THAT(status.message(), Catch::Contains("the text is "));
}

}  // namespace

TEST_CASE("kernel compiler: a kernel is made in another process") {
  const Result<Cubin> cubin = Fake("work").cubin();
  REQUIRE(cubin.status().text() == "OK");
  CHECK(cubin->compiler == "NVRTC 13.0");
  CHECK(cubin->built);
  REQUIRE(cubin->code.size() == 1);
  CHECK(
      cubin->code[0].starts_with("\x7f"
                                 "ELF"));
}

TEST_CASE("kernel compiler: a crash is an error that names the kernel and the signal, and leaves the text") {
  const Fake fake("crash");
  const Status status = fake.refusal();
  CHECK(status.code() == StatusCode::kCompileError);
  CHECK_THAT(status.message(), Catch::Contains("kernel small: NVRTC 13.0 was ended by signal 11 (Segmentation fault), "
                                               "5 times\n  about to crash\n  the text is "));
  const std::string& message = status.message();
  CHECK(content(message.substr(message.rfind(' ') + 1)) == "the text\n");
}

TEST_CASE("kernel compiler: after a crash it tries again") {
  const test::TemporaryDirectory folder;
  const std::string calls = folder.path() + "/calls";
  CHECK(Fake("crash once " + calls).refusal().text() == "OK");
  CHECK(content(calls) == "called\ncalled\n");
}

TEST_CASE("kernel compiler: of several that want the same kernel at once one compiles it") {
  const test::TemporaryDirectory folder;
  const std::string calls = folder.path() + "/calls";
  std::ofstream(calls) << "";  // so that it counts the calls and does not crash
  const Fake fake("crash once " + calls);
  std::vector<std::thread> threads;
  std::atomic<int> built = 0, made = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const Result<Cubin> cubin = fake.cubin();
      made += cubin ? 1 : 0;
      built += cubin && cubin->built ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(made == 4);
  CHECK(built == 1);
  CHECK(content(calls) == "called\n");
}

TEST_CASE("kernel compiler: a process that ends in an unknown way has crashed") {
  check_compile_error("exit", "ended with 3, 5 times");
}

TEST_CASE("kernel compiler: a text that NVRTC refuses is not tried again") {
  check_compile_error("refuse", "refuses what was generated for sm_90\n  bad text");
}

TEST_CASE("kernel compiler: nonsense is refused, and no driver sees it") {
  check_compile_error("nonsense", "made what is no such kernel: it is no object file of 64 bits");
  check_compile_error("cut off", "made what is no such kernel: it is cut off after 100 bytes");
  check_compile_error("other kernel", "made what is no such kernel: it has no kernel of this name");
}

TEST_CASE("kernel compiler: one that hangs is ended after CASYNC_COMPILE_SEC") {
  const ScopedVariable seconds("CASYNC_COMPILE_SEC", "0.3");
  const Status status = Fake("hang").refusal();
  CHECK(status.code() == StatusCode::kTimeout);
  CHECK_THAT(status.message(), Catch::Contains("kernel small: NVRTC 13.0 was not ready after 0.3 s "
                                               "(CASYNC_COMPILE_SEC) and was ended"));
}

TEST_CASE("kernel compiler: PTX that was shipped is for where NVRTC does not know the architecture") {
  const test::TemporaryDirectory folder;
  const ScopedVariable place("CASYNC_KERNEL_DIR", folder.path().c_str());
  REQUIRE(ShippedKernels(folder.path()).write(Fake::text(), find_cuda_headers()->digest, "compute_80", "ptx").is_ok());
  CHECK(Fake("work").cubin()->compiler == "NVRTC 13.0");
  const Fake fake("unknown option");
  const Result<Cubin> ptx = fake.cubin();
  REQUIRE(ptx.status().text() == "OK");
  CHECK(ptx->code == std::vector<std::string>{"ptx"});
  CHECK(ptx->compiler == "the build of casync to PTX");
  CHECK(std::filesystem::is_empty(fake.folder() + "/cache"));
  CHECK(Fake("refuse").refusal().code() == StatusCode::kCompileError);
}

TEST_CASE("kernel compiler: an edit of any header that kernels include is another digest") {
  namespace fs = std::filesystem;
  const test::TemporaryDirectory copy;
  const fs::path root = copy.path();
  fs::create_directory(root / "compll");
  fs::copy(find_cuda_headers()->folder + "/compll/ops", root / "compll/ops", fs::copy_options::recursive);
  const ScopedVariable folder("CASYNC_INCLUDE_DIR", root.c_str());
  std::set<std::string> included;
  const std::string begin = "#include \"";
  for (const auto& each : fs::directory_iterator(root / "compll/ops/cuda")) {
    std::ifstream file(each.path());
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with(begin)) included.insert(line.substr(begin.size(), line.rfind('"') - begin.size()));
    }
  }
  REQUIRE(included.count("compll/ops/cuda/launch.h") == 1);
  for (const std::string& header : included) {
    INFO(header);
    const std::string before = find_cuda_headers()->digest;
    std::ofstream(root / header, std::ios::app) << "// edited\n";
    CHECK(find_cuda_headers()->digest != before);
  }
}

TEST_CASE("kernel compiler: without a folder for its files, or with seconds that are no number, it says so") {
  const Fake fake("work");
  {
    const ScopedVariable folder("TMPDIR", "/proc/nowhere");
    CHECK(fake.refusal().code() == StatusCode::kUnavailable);
  }
  const ScopedVariable seconds("CASYNC_COMPILE_SEC", "soon");
  CHECK_THAT(fake.refusal().text(), Catch::Contains("CASYNC_COMPILE_SEC=soon"));
}

}  // namespace casync::compll
