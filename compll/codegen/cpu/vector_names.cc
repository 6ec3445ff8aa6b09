// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/vector_names.h"

namespace casync::compll {

std::string VectorNames::block_size(const Constant& constant) {
  return constant.parameter ? "static_cast<size_t>(" + in_parameters(*constant.parameter) + ")"
                            : "size_t{" + std::to_string(constant.value) + "}";
}

std::string VectorNames::size(const Type& type) {
  if (!type.extent) return "1";
  const Constant& count = type.extent->count;
  switch (type.extent->kind) {
    case Extent::Kind::kElements: break;
    case Extent::Kind::kBlocks: return "(n + " + block_size(count) + " - 1) / " + block_size(count);
    case Extent::Kind::kFixed: return block_size(count);
    case Extent::Kind::kSized: return "size" + std::to_string(count.value);
  }
  return "n";
}

}  // namespace casync::compll
