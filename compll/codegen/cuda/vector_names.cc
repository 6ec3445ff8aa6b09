// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/vector_names.h"

namespace casync::compll {

std::string CudaNames::block_size(const Constant& constant) {
  if (constant.dimension) return *constant.dimension == Dimension::kRows ? "n.rows" : "n.columns";
  return constant.parameter ? "static_cast<uint32_t>(" + parameter(*constant.parameter) + ")"
                            : std::to_string(constant.value) + "u";
}

std::string CudaNames::size(const Type& type) {
  if (!type.extent) return "1";
  const Constant& count = type.extent->count;
  std::string number = count.parameter ? "uint64_t(settings.parameters[" + std::to_string(*count.parameter) + "])"
                                       : "uint64_t{" + std::to_string(count.value) + "}";
  switch (type.extent->kind) {
    case Extent::Kind::kElements: break;
    case Extent::Kind::kBlocks: return "blocks_of(n, " + number + ")";
    case Extent::Kind::kFixed: return number;
    case Extent::Kind::kSized: return "size" + std::to_string(count.value);
  }
  return "n";
}

std::string CudaNames::declared_n(const Program& program) {
  return program.synchronize ? "const Matrix& n" : "uint64_t n";
}

std::string CudaNames::part_of(const Type& type) {
  return type.is_over(Extent::Kind::kSized) ? "part.evenly()" : "part";
}

}  // namespace casync::compll
