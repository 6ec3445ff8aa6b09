// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/emulated/functions.h"

#include <optional>

#include "tests/compll/cuda/support/codecs.h"

namespace casync::compll::emulated {

extern "C" const cuda::Kernels* casync_greatest_kernels();

namespace {

std::optional<Functions> loaded_functions;  ///< in place of those that the program was linked with

std::string full_name(const char* codec, const std::string& function) {
  return "casync_" + std::string(codec) + "_" + function;
}

void add_kernel(const char* codec, const std::string& function, cuda::Kernel kernel, Functions& all) {
  if (kernel != nullptr) all[full_name(codec, function)] = {kernel, nullptr, nullptr, 0};
}

Functions linked_functions() {
  Functions all;
  for (const cuda::Kernels* each : test::kernels_of_codecs()) add(*each, all);
  add(*casync_greatest_kernels(), all);
  for (const cuda::VectorFormKernels* each : test::kernels_of_vector_form()) add(*each, all);
  for (const cuda::RoundsKernels* each : test::kernels_of_rounds()) add(*each, all);
  for (const cuda::CodingKernels* each : test::kernels_of_coding()) add(*each, all);
  return all;
}

}  // namespace

void add(const cuda::Kernels& kernels, Functions& all) {
  add_kernel(kernels.name, "encode", kernels.encode, all);
  add_kernel(kernels.name, "merge", kernels.merge, all);
  add_kernel(kernels.name, "decode", kernels.decode, all);
  add_kernel(kernels.name, "result", kernels.result, all);
  add_kernel(kernels.name, "encode_statistics", kernels.encode_statistics, all);
  add_kernel(kernels.name, "merge_statistics", kernels.merge_statistics, all);
}

void add(const cuda::VectorFormKernels& kernels, Functions& all) {
  add_kernel(kernels.name, "encode", kernels.encode.kernel, all);
  add_kernel(kernels.name, "merge", kernels.merge.kernel, all);
  add_kernel(kernels.name, "decode", kernels.decode.kernel, all);
  add_kernel(kernels.name, "result", kernels.result.kernel, all);
  all[full_name(kernels.name, "sizes")].sizes = kernels.sizes;
}

void add(const cuda::RoundsKernels& kernels, Functions& all) {
  for (std::uint32_t turn = 0; turn <= kernels.rounds; ++turn) {
    add_kernel(kernels.name, "turn_" + std::to_string(turn), kernels.turns[turn].kernel, all);
  }
  all[full_name(kernels.name, "sizes")].sizes = kernels.sizes;
}

void add(const cuda::CodingKernels& kernels, Functions& all) {
  all[full_name(kernels.name, "code")].coding = kernels.code;
  all[full_name(kernels.name, "join")].coding = kernels.join;
  all[full_name(kernels.name, "find")].coding = kernels.find;
  all[full_name(kernels.name, "read")].coding = kernels.read;
}

void set_functions(const Functions& functions) { loaded_functions = functions; }

std::array<Functions, kMostDevices> functions_by_device() {
  std::array<Functions, kMostDevices> all;
  all.fill(loaded_functions ? *loaded_functions : linked_functions());
  for (int device = 0; device < kMostDevices; ++device) {
    for (auto& [name, function] : all[static_cast<std::size_t>(device)]) function.device = device;
  }
  return all;
}

}  // namespace casync::compll::emulated
