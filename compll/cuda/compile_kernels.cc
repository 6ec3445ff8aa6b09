// SPDX-License-Identifier: Apache-2.0
#include "compll/cuda/compile_kernels.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "compll/cuda/nvrtc.h"

namespace casync::compll {
namespace {

int refused(const Status& status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  if (status.code() == StatusCode::kCompileError) return kTextRefused;
  return status.code() == StatusCode::kUnavailable ? kNotAvailable : kNvrtcFailed;
}

int write_result(const char* path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (file) return 0;
  std::fprintf(stderr, "%s cannot be written\n", path);
  return kNoResult;
}

int compile(const Nvrtc& nvrtc, const std::vector<std::string>& words) {
  std::ifstream file(words[2], std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Result<std::string> code = nvrtc.compiled(text, std::span(words).subspan(3));
  return code ? write_result(words[1].c_str(), *code) : refused(code.status());
}

int run(const std::vector<std::string>& words) {
  const bool version = words.size() == 2 && words[0] == "version";
  if (!version && (words.size() < 3 || words[0] != "compile")) {
    std::fprintf(stderr, "usage: %s version RESULT | compile RESULT TEXT OPTION...\n", kKernelCompiler);
    return kWrongArguments;
  }
  // Its caller waits for it: without that thread nobody would end it. A crash is told, and needs no dump.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_dump{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_dump);
  const Result<const Nvrtc*> nvrtc = Nvrtc::find();
  if (!nvrtc) return refused(nvrtc.status());
  return version ? write_result(words[1].c_str(), (*nvrtc)->version()) : compile(**nvrtc, words);
}

}  // namespace
}  // namespace casync::compll

int main(int argc, char** argv) { return casync::compll::run({argv + 1, argv + argc}); }
