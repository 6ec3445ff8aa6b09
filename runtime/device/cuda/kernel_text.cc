// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/kernel_text.h"

#include <utility>
#include <vector>

#include "base/codec_file.h"
#include "compll/codec/none.h"
#include "compll/cuda/built_in_text.h"
#include "compll/cuda/sum_program.h"
#include "compll/load/file_program.h"
#include "compll/load/file_text.h"
#include "compll/load/variants.h"

namespace casync::runtime {
namespace {

using Parameters = std::vector<std::pair<std::string, double>>;

Result<compll::CudaCodecText> text_of_source(const compll::Source& source, const Parameters& parameters,
                                             std::uint64_t digest) {
  const Result<compll::FileProgram> read = compll::read_program(source, parameters);
  if (!read) return read.status();
  if (read->program->declares.digest != digest) return invalid_argument(source.name() + ": the file has changed");
  return compll::cuda_codec_text(*read->program, source);
}

}  // namespace

Result<compll::CudaCodecText> kernel_text(const std::string& codec, const compll::CodecInfo& info) {
  if (info.identity) {
    return compll::built_in_text(info.name == compll::kGreatestIdentity ? compll::kGreatestIdentity
                                                                        : compll::kSumProgram);
  }
  Parameters parameters;
  for (std::size_t i = 0; i < info.parameters.size(); ++i) {
    parameters.emplace_back(info.parameters[i].name, info.values[i]);
  }
  if (is_codec_file(codec)) {
    const Result<compll::Source> source = compll::program_source(codec);
    return source ? text_of_source(*source, parameters, info.digest) : source.status();
  }
  const std::string_view variant = compll::source_of_variant(codec, parameters);
  if (variant.empty()) return compll::built_in_text(codec);
  return text_of_source({codec + ".cll", std::string(variant)}, parameters, info.digest);
}

}  // namespace casync::runtime
