// SPDX-License-Identifier: Apache-2.0
#include "compll/cuda/built_in_text.h"

#include <variant>

#include "compll/codec/none.h"
#include "compll/codec/written.h"
#include "compll/cuda/sum_program.h"
#include "compll/lang/front_end.h"

namespace casync::compll {

namespace {

Result<CudaCodecText> greatest_text() {
  const Result<CudaCodecText> sum = built_in_text(kSumProgram);
  if (!sum) return sum.status();
  return CudaCodecText(cuda_greatest_text(std::get<CudaText>(*sum), kGreatestIdentity));
}

}  // namespace

Result<CudaCodecText> built_in_text(const std::string& codec) {
  if (codec == kGreatestIdentity) return greatest_text();
  const std::string_view text = codec == kSumProgram ? sum_program() : written_source(codec);
  if (text.empty()) return unimplemented("codec `" + codec + "` has no kernels for a GPU");
  const Source source(codec + ".cll", std::string(text));
  const Result<Program> program = compile(source);
  if (!program) return program.status();
  return cuda_codec_text(*program, source);
}

}  // namespace casync::compll
