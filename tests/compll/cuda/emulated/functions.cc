// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/emulated/functions.h"

#include <vector>

#include "tests/compll/cuda/support/codecs.h"

namespace casync::compll::emulated {

extern "C" const cuda::Kernels* casync_greatest_kernels();

namespace {

Functions all_functions() {
  Functions all;
  const auto add = [&](const std::string& codec, const std::string& name, cuda::Kernel kernel) {
    if (kernel != nullptr) all["casync_" + codec + "_" + name] = {kernel, nullptr, nullptr, 0};
  };
  std::vector<const cuda::Kernels*> tiles = test::kernels_of_codecs();
  tiles.push_back(casync_greatest_kernels());
  for (const cuda::Kernels* each : tiles) {
    add(each->name, "encode", each->encode);
    add(each->name, "merge", each->merge);
    add(each->name, "decode", each->decode);
    add(each->name, "result", each->result);
    add(each->name, "encode_statistics", each->encode_statistics);
    add(each->name, "merge_statistics", each->merge_statistics);
  }
  for (const cuda::VectorFormKernels* each : test::kernels_of_vector_form()) {
    add(each->name, "encode", each->encode.kernel);
    add(each->name, "merge", each->merge.kernel);
    add(each->name, "decode", each->decode.kernel);
    add(each->name, "result", each->result.kernel);
    all["casync_" + std::string(each->name) + "_sizes"].sizes = each->sizes;
  }
  for (const cuda::RoundsKernels* each : test::kernels_of_rounds()) {
    for (std::uint32_t turn = 0; turn <= each->rounds; ++turn) {
      add(each->name, "turn_" + std::to_string(turn), each->turns[turn].kernel);
    }
    all["casync_" + std::string(each->name) + "_sizes"].sizes = each->sizes;
  }
  for (const cuda::CodingKernels* each : test::kernels_of_coding()) {
    const std::string codec = "casync_" + std::string(each->name);
    all[codec + "_code"].coding = each->code;
    all[codec + "_join"].coding = each->join;
    all[codec + "_find"].coding = each->find;
    all[codec + "_read"].coding = each->read;
  }
  return all;
}

}  // namespace

std::array<Functions, kMostDevices> functions_by_device() {
  std::array<Functions, kMostDevices> all;
  all.fill(all_functions());
  for (int device = 0; device < kMostDevices; ++device) {
    for (auto& [name, function] : all[static_cast<std::size_t>(device)]) function.device = device;
  }
  return all;
}

}  // namespace casync::compll::emulated
