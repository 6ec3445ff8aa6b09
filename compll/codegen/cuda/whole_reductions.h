// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll {

struct CudaWholeRoutine;

/// Spells reductions: of all elements, of blocks, of vectors.
class CudaReductions {
 public:
  explicit CudaReductions(CudaWholeRoutine& text) : text_(text) {}

  void write(const cuda_whole::ReduceJoined& work);
  void write(const cuda_whole::ReduceChunks& work);
  void write(const cuda_whole::FinishChunks& work);
  void write(const cuda_whole::ReduceBlocks& work);
  void write(const cuda_whole::ReduceVectors& work);

  /// The class that reduces so.
  static std::string reducer(const cuda_whole::Reduction& by);
  /// Returns true if a reduction of nothing gives an end of 32 bits' range, which the element's type does not have.
  static bool is_narrowed(const cuda_whole::Reduction& by);

 private:
  std::string only_if_needed(const Term& term);
  std::string initial_value(const Term& term);
  std::string chunks(const cuda_whole::Reduction& by, cuda_whole::SpaceId space);
  const Type& type_of(cuda_whole::Id id) const;

  CudaWholeRoutine& text_;
};

}  // namespace casync::compll
