// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/kernel_text.h"

#include <utility>
#include <vector>

#include "base/codec_file.h"
#include "compll/codec/written.h"
#include "compll/cuda/sum_program.h"
#include "compll/lang/front_end.h"
#include "compll/load/file_program.h"
#include "compll/load/file_text.h"

namespace casync::runtime {
namespace {

Result<compll::CudaCodecText> text_of_file(const std::string& codec, const compll::CodecInfo& info) {
  const Result<compll::Source> source = compll::program_source(codec);
  if (!source) return source.status();
  std::vector<std::pair<std::string, double>> parameters;
  for (std::size_t i = 0; i < info.parameters.size(); ++i) {
    parameters.emplace_back(info.parameters[i].name, info.values[i]);
  }
  const Result<compll::FileProgram> read = compll::read_program(*source, parameters);
  if (!read) return read.status();
  if (read->program->declares.digest != info.digest) return invalid_argument(codec + ": the file has changed");
  return compll::cuda_codec_text(*read->program, *source);
}

}  // namespace

Result<compll::CudaCodecText> kernel_text(const std::string& codec, const compll::CodecInfo& info) {
  if (is_codec_file(codec)) return text_of_file(codec, info);
  const std::string_view text = info.identity ? compll::sum_program() : compll::written_source(codec);
  if (text.empty()) return unimplemented("codec `" + codec + "` has no kernels for a GPU");
  const compll::Source source(codec + ".cll", std::string(text));
  const Result<compll::Program> program = compll::compile(source);
  if (!program) return program.status();
  return compll::cuda_codec_text(*program, source);
}

}  // namespace casync::runtime
