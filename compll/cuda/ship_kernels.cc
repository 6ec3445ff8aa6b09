// SPDX-License-Identifier: Apache-2.0
//
// ship_kernels FOLDER ARCHITECTURE CODEC: compiles the kernels of a built-in codec for the folder of shipped kernels
// (shipped_kernels.h), unless they are there already. The build runs it; it needs NVRTC and no GPU.
#include <cstdio>
#include <string>
#include <vector>

#include "compll/cuda/built_in_text.h"
#include "compll/cuda/kernel_compiler.h"
#include "compll/cuda/shipped_kernels.h"
#include "compll/load/headers.h"

namespace casync::compll {
namespace {

Status ship(const std::string& folder, const std::string& architecture, const std::string& codec) {
  const Result<CudaCodecText> text = built_in_text(codec);
  if (!text) return text.status();
  const Result<Headers> headers = find_cuda_headers();
  if (!headers) return headers.status();
  const ShippedKernels shipped(folder);
  if (shipped.code(*text, headers->digest, architecture)) return Status::ok();
  const Result<const KernelCompiler*> compiler = KernelCompiler::find();
  if (!compiler) return compiler.status();
  std::vector<std::string> options = (*compiler)->options();
  options.push_back("--include-path=" + headers->folder);
  const auto code = (*compiler)->compiled(text_of(*text), kernels_of(*text), architecture, options);
  return code ? shipped.write(*text, headers->digest, architecture, *code) : code.status();
}

int run(const std::vector<std::string>& words) {
  if (words.size() != 3) {
    std::fprintf(stderr, "usage: ship_kernels FOLDER ARCHITECTURE CODEC\n");
    return 2;
  }
  const Status status = ship(words[0], words[1], words[2]);
  if (!status) std::fprintf(stderr, "ship_kernels: codec %s: %s\n", words[2].c_str(), status.message().c_str());
  return status ? 0 : 1;
}

}  // namespace
}  // namespace casync::compll

int main(int argc, char** argv) { return casync::compll::run({argv + 1, argv + argc}); }
