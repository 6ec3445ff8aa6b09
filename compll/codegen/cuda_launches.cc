// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda_launches.h"

#include <utility>
#include <vector>

#include "compll/codegen/cuda.h"
#include "compll/codegen/cuda_whole.h"

namespace casync::compll {
namespace {

std::vector<std::pair<std::string, std::uint32_t>> launches_of(const Program& program, const Source& source) {
  if (const Result<Lowered> lowered = lower(program, source)) {
    if (const Result<CudaText> text = cuda_text(program, *lowered, source)) {
      const std::uint32_t encoding = text->shape.statistics ? 2 : 1;
      return {{"encode", encoding}, {"merge", encoding}, {"decode", 1}};
    }
  }
  const Result<CudaWhole> whole = cuda_whole_text(program, source);
  return whole ? whole->stages : std::vector<std::pair<std::string, std::uint32_t>>();
}

}  // namespace

std::string cuda_launches(const Program& program, const Source& source) {
  std::string all;
  for (const auto& [function, count] : launches_of(program, source)) {
    all += (all.empty() ? "on a GPU: " : ", ") + function + " " + std::to_string(count) +
           (all.empty() ? count == 1 ? " launch" : " launches" : "");
  }
  return all.empty() ? all : all + "\n";
}

}  // namespace casync::compll
