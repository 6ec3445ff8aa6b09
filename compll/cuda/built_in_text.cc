// SPDX-License-Identifier: Apache-2.0
#include "compll/cuda/built_in_text.h"

#include "compll/codec/written.h"
#include "compll/cuda/sum_program.h"
#include "compll/lang/front_end.h"

namespace casync::compll {

Result<CudaCodecText> built_in_text(const std::string& codec) {
  const std::string_view text = codec == kSumProgram ? sum_program() : written_source(codec);
  if (text.empty()) return unimplemented("codec `" + codec + "` has no kernels for a GPU");
  const Source source(codec + ".cll", std::string(text));
  const Result<Program> program = compile(source);
  if (!program) return program.status();
  return cuda_codec_text(*program, source);
}

}  // namespace casync::compll
