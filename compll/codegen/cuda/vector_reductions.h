// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll {

struct CudaVectorRoutine;

/// Spells reductions: of all elements, of blocks, of vectors.
class CudaReductions {
 public:
  explicit CudaReductions(CudaVectorRoutine& text) : text_(text) {}

  void write(const cuda_vector::ReduceJoined& work);
  void write(const cuda_vector::ReduceChunks& work);
  void write(const cuda_vector::FinishChunks& work);
  void write(const cuda_vector::ReduceBlocks& work);
  void write(const cuda_vector::ReduceVectors& work);

  /// The class that reduces so.
  static std::string reducer(const cuda_vector::Reduction& by);
  /// Returns true if a reduction of nothing gives an end of 32 bits' range, which the element's type does not have.
  static bool is_narrowed(const cuda_vector::Reduction& by);

 private:
  std::string only_if_needed(const Term& term);
  std::string initial_value(const Term& term);
  std::string chunks(const cuda_vector::Reduction& by, cuda_vector::SpaceId space);
  const Type& type_of(cuda_vector::Id id) const;

  CudaVectorRoutine& text_;
};

}  // namespace casync::compll
