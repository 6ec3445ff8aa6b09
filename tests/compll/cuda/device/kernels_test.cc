// SPDX-License-Identifier: Apache-2.0
//
// Kernels on this machine's GPU give the interpreter's bytes. usage: kernels_test [--small] [ROOT [CODEC ...]], with
// the sources below ROOT; --small is for a sanitizer. kernels_test --list: the codecs' names. Exit code 1: bytes
// differ, or a CODEC has no kernels here. 77: no GPU. Not Catch2: it is carried to a machine that has nothing but a
// driver.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/compll/cuda/device/cuda_device.h"
#include "tests/compll/cuda/device/meaning.h"
#include "tests/compll/cuda/support/codecs.h"
#include "tests/compll/cuda/support/compare.h"
#include "tests/compll/cuda/support/compare_rounds.h"

namespace casync::compll::test {
namespace {

constexpr int kSkipped = 77;

/// The sizes of blocks to try: the codec's own, one within a row of a warp, one of several rows, one of several pieces;
/// the fewest and the most that are turned together.
std::vector<Parameters> settings(const cuda::Kernels& kernels, const Codec& codec) {
  std::vector<Parameters> all = {{}};
  if (kernels.shape.block_parameter < 0) return all;
  const CodecParameter& block = codec.info().parameters[static_cast<std::size_t>(kernels.shape.block_parameter)];
  for (const double size : {16.0, 64.0, 512.0, 4096.0}) {
    if (size >= block.least && size <= block.most) all.push_back({{block.name, size}});
  }
  for (const CodecParameter& parameter : codec.info().parameters) {
    if (parameter.name != "rotated") continue;
    for (const double size : {parameter.least, parameter.most}) all.push_back({{parameter.name, size}});
  }
  return all;
}

std::vector<Parameters> settings(const cuda::VectorFormKernels&, const Codec& codec) {
  std::vector<Parameters> all = {{}};
  for (const CodecParameter& parameter : codec.info().parameters) {
    if (parameter.name == "block") all.push_back({{"block", 4096}});
    if (parameter.name == "ratio") all.push_back({{"ratio", 0.5}});
    if (parameter.name == "rotated") all.push_back({{"rotated", 4096}});
  }
  return all;
}

Comparison comparison(bool is_small, DType dtype) {
  if (is_small) return {{1, 17, 129}, {130}, {}, {}, dtype};
  if (dtype != DType::kFloat32) return {{1, 17, 300, 4097}, {130, 4100}, {100003}, {0, 5, 2, 3, 4100}, dtype};
  return {{0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 129, 511, 512, 513, 1000, 4097},
          {0, 1, 130, 4099, 9001},
          {100003, 1000003},
          {0, 8300, 5, 4096, 0, 12289, 4097, 1}};
}

std::vector<Parameters> settings(const cuda::RoundsKernels&, const RoundsCodec& codec) {
  std::vector<Parameters> all = {{}};
  for (const CodecParameter& parameter : codec.info().parameters) {
    const bool counts_vectors = parameter.name == "rank" || parameter.name == "some" || parameter.name == "few";
    for (const double count : {1.0, 3.0, 15.0}) {
      if (counts_vectors && count <= parameter.most) all.push_back({{parameter.name, count}});
    }
  }
  return all;
}

/// The shapes of matrices, with sides around halves of warps, warps, strips and tiles; also none.
Shapes shapes(bool is_small) {
  if (is_small) return {{1, 1}, {5, 33}, {129, 128}};
  return {{0, 0},     {0, 3},     {5, 0},     {1, 1},    {1, 300},  {300, 1},   {7, 5},      {15, 17},   {31, 33},
          {130, 128}, {1, 16385}, {16500, 1}, {5, 6600}, {6600, 5}, {211, 263}, {512, 1024}, {1031, 517}};
}

std::unique_ptr<Codec> meaning_for(const cuda::Kernels& kernels, const std::string& root, const Parameters& values) {
  return meaning_of(root, kernels.name, values);
}
std::unique_ptr<Codec> meaning_for(const cuda::VectorFormKernels& kernels, const std::string& root,
                                   const Parameters& values) {
  return meaning_of(root, kernels.name, values);
}
std::unique_ptr<RoundsCodec> meaning_for(const cuda::RoundsKernels& kernels, const std::string& root,
                                         const Parameters& values) {
  return meaning_of_rounds(root, kernels.name, values);
}

template <class Kernels>
std::string compared(const Kernels& kernels, const Codec& meaning, CudaDevice& device, bool is_small, DType dtype) {
  KernelDevice* const devices[] = {&device};
  return difference(kernels, meaning, devices, comparison(is_small, dtype));
}
std::string compared(const cuda::RoundsKernels& kernels, const RoundsCodec& meaning, CudaDevice& device, bool is_small,
                     DType) {
  return difference(kernels, meaning, device, shapes(is_small));
}

/// The types of gradients to try with these parameters. Turns have float32.
template <class Kernels>
std::vector<DType> dtypes(const Kernels&, const Parameters& parameters) {
  if (!parameters.empty()) return {DType::kFloat32};
  return {DType::kFloat32, DType::kFloat16, DType::kBFloat16};
}
std::vector<DType> dtypes(const cuda::RoundsKernels&, const Parameters&) { return {DType::kFloat32}; }

/// Each of these codecs that is wanted; how many failed.
template <class Kernels>
int compare_all(const std::vector<const Kernels*>& all, CudaDevice& device, bool is_small, const std::string& root,
                const std::vector<std::string>& wanted) {
  int failed = 0;
  for (const Kernels* kernels : all) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), kernels->name) == wanted.end()) continue;
    for (const Parameters& parameters : settings(*kernels, *meaning_for(*kernels, root, {}))) {
      for (const DType dtype : dtypes(*kernels, parameters)) {
        const std::string found = compared(*kernels, *meaning_for(*kernels, root, parameters), device, is_small, dtype);
        std::printf("%s", kernels->name);
        for (const auto& [name, value] : parameters) std::printf(", %s %g", name.c_str(), value);
        if (dtype != DType::kFloat32) std::printf(", %s", std::string(name_of(dtype)).c_str());
        std::printf(": %s\n", found.empty() ? "the interpreter's bytes" : found.c_str());
        std::fflush(stdout);
        failed += found.empty() ? 0 : 1;
      }
    }
  }
  return failed;
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const cuda::Kernels* kernels : kernels_of_codecs()) all.emplace_back(kernels->name);
  for (const cuda::VectorFormKernels* kernels : kernels_of_vector_form()) all.emplace_back(kernels->name);
  for (const cuda::RoundsKernels* kernels : kernels_of_rounds()) all.emplace_back(kernels->name);
  return all;
}

int list() {
  for (const std::string& name : names()) std::printf("%s\n", name.c_str());
  return 0;
}

int run(bool is_small, const std::string& root, const std::vector<std::string>& wanted) {
  const std::vector<std::string> known = names();
  for (const std::string& name : wanted) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::printf("there are no kernels of %s: --list names the codecs\n", name.c_str());
    return 1;
  }
  std::string reason;
  const std::unique_ptr<CudaDevice> device = CudaDevice::open(std::size_t{2} << 30, reason);
  if (!device) {
    std::printf("skipped: no device: %s\n", reason.c_str());
    return kSkipped;
  }
  std::printf("on %s\n", device->name().c_str());
  const int failed = compare_all(kernels_of_codecs(), *device, is_small, root, wanted) +
                     compare_all(kernels_of_vector_form(), *device, is_small, root, wanted) +
                     compare_all(kernels_of_rounds(), *device, is_small, root, wanted);
  std::printf("%s\n", failed == 0 ? "passed" : "FAILED");
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace casync::compll::test

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments == std::vector<std::string>{"--list"}) return casync::compll::test::list();
  const bool is_small = !arguments.empty() && arguments.front() == "--small";
  if (is_small) arguments.erase(arguments.begin());
  if (arguments.empty()) arguments.push_back(".");
  return casync::compll::test::run(is_small, arguments.front(), {arguments.begin() + 1, arguments.end()});
}
