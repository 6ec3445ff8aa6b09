// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/status.h"
#include "compll/codegen/cuda/rounds.h"
#include "compll/codegen/cuda/tiles.h"
#include "compll/codegen/cuda/vector.h"
#include "compll/lang/program.h"
#include "compll/lang/source.h"

namespace casync::compll {

/// A program's kernels as text: by turns, by tiles, or in vector form.
using CudaCodecText = std::variant<CudaRounds, CudaText, CudaVectorForm>;

/// Returns the text. Of a program with coded sections its kernels make and read payloads without coding, and others
/// code them (cuda::CodingKernels). Unimplemented, with the reason and its place: there is none.
Result<CudaCodecText> cuda_codec_text(const Program& program, const Source& source);

const std::string& text_of(const CudaCodecText& codec);
const std::string& name_of(const CudaCodecText& codec);

/// The names of all its kernels, also of the one that computes sizes.
std::vector<std::string> kernels_of(const CudaCodecText& codec);

}  // namespace casync::compll
