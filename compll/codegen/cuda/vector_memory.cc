// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/vector_memory.h"

#include "compll/codegen/cuda/vector_names.h"
#include "compll/codegen/text/operation_text.h"

namespace casync::compll {

using cuda_vector::Address;
using cuda_vector::Space;

std::string cuda_space_bytes(const Space& space) {
  const std::string each = std::to_string(space.bytes);
  switch (space.count) {
    case Space::Count::kOne: break;
    case Space::Count::kElements: return each + " * " + CudaNames::size(space.of);
    case Space::Count::kChunks: return each + " * blocks_of(" + CudaNames::size(space.of) + ", kReductionChunk)";
    case Space::Count::kBlock: return each + " * " + CudaNames::block_size(space.block);
    case Space::Count::kTiles: return each + " * tiles";
    case Space::Count::kWarps: return each + " * kWarps * tiles";
    case Space::Count::kTies: return each + " * kMostTies";
    case Space::Count::kSelection: return "sizeof(Selection)";
  }
  return each;
}

std::string cuda_space(const cuda_vector::Routine& plan, cuda_vector::SpaceId space, const std::string& type) {
  return "part.at<" + type + ">(at." + plan.workspace[space].word + ")";
}

std::string cuda_address(const cuda_vector::Routine& plan, const Address& address) {
  const std::string type = type_text(address.element), index = std::to_string(address.index),
                    own = address.space ? "at." + plan.workspace[*address.space].word : "0";
  const bool exchanges = plan.program->synchronize.has_value();
  switch (address.base) {
    case Address::Base::kWorkspace: break;
    case Address::Base::kInput: return "part.input(" + own + ")";
    case Address::Base::kGiven: return "part.given()";
    case Address::Base::kResult: return "part.made()";
    case Address::Base::kStateIn:
      return exchanges ? "part.kept_in(layout.state" + index + ")" : "part.state_in(" + index + ")";
    case Address::Base::kStateOut:
      return (exchanges ? "part.kept_out(layout.state" : "part.state_out(") + index + ", " + own + ")";
    case Address::Base::kExchanged: return "part.exchanged(" + index + ")";
    case Address::Base::kStored: return "part.scratch<" + type + ">(layout.stored" + index + ")";
  }
  return cuda_space(plan, *address.space, type);
}

}  // namespace casync::compll
