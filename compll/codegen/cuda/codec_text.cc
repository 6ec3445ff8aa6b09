// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/codec_text.h"

#include <utility>

#include "compll/ir/form.h"

namespace casync::compll {

Result<CudaCodecText> cuda_codec_text(const Program& program, const Source& source) {
  const TargetForm<CudaTiles> form = form_of(program, source, plan_cuda_tiles);
  if (form.kind == Form::Kind::kTiles) return CudaCodecText(cuda_text(*form.tiles, source));
  if (form.kind == Form::Kind::kRounds) {
    Result<CudaRounds> turns = cuda_rounds_text(program, source);
    return turns ? Result<CudaCodecText>(std::move(*turns)) : turns.status();
  }
  Result<CudaVectorForm> vector = cuda_vector_text(program, source);
  return vector ? Result<CudaCodecText>(std::move(*vector)) : vector.status();
}

const std::string& text_of(const CudaCodecText& codec) {
  return std::visit([](const auto& each) -> const std::string& { return each.text; }, codec);
}

const std::string& name_of(const CudaCodecText& codec) {
  return std::visit([](const auto& each) -> const std::string& { return each.codec; }, codec);
}

std::vector<std::string> kernels_of(const CudaCodecText& codec) {
  std::vector<std::string> all = std::visit([](const auto& each) { return each.kernels; }, codec);
  if (!std::holds_alternative<CudaText>(codec)) all.push_back("casync_" + name_of(codec) + "_sizes");
  return all;
}

}  // namespace casync::compll
