// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/codec_file.h"

namespace casync::compll {

void open_codec(Writer& out, const std::string& codec, const std::vector<std::string>& headers) {
  out.line("// Written by compllc from codec " + codec + ". Changes belong into its file. Compile with -fmad=false.");
  for (const std::string& header : headers) out.line("#include \"compll/ops/cuda/" + header + ".cuh\"");
  out.line("");
  out.line("namespace casync::compll::cuda::codec_" + codec + " {");
}

void close_codec(Writer& out, const std::string& codec) {
  out.line("");
  out.line("}  // namespace casync::compll::cuda::codec_" + codec);
}

}  // namespace casync::compll
