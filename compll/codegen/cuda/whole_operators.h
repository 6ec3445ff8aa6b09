// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll {

struct CudaWholeRoutine;

/// Spells operators that make arrays in memory, and reductions.
class CudaOperators {
 public:
  explicit CudaOperators(CudaWholeRoutine& text) : text_(text) {}

  void write(const cuda_whole::ReduceJoined& work);
  void write(const cuda_whole::ReduceChunks& work);
  void write(const cuda_whole::FinishChunks& work);
  void write(const cuda_whole::ReduceBlocks& work);
  void write(const cuda_whole::ReduceVectors& work);
  void write(const cuda_whole::Apply& call);
  void write(const cuda_whole::FillFromLast& work);
  void write(const cuda_whole::Multiply& work);

  /// The class that reduces so.
  static std::string reducer(const cuda_whole::Reduction& by);
  /// Returns true if a reduction of nothing gives an end of 32 bits' range, which the element's type does not have.
  static bool is_narrowed(const cuda_whole::Reduction& by);

 private:
  std::string only_if_needed(const Term& term);
  std::string initial_value(const Term& term);
  std::string chunks(const cuda_whole::Reduction& by, cuda_whole::SpaceId space);
  std::string text(const cuda_whole::Tile&) const { return "part"; }
  std::string text(const cuda_whole::ShareOf& share) const;
  std::string text(const cuda_whole::SizeOf& count) const;
  std::string text(const cuda_whole::ElementsOf& elements);
  std::string text(const Term* value);
  std::string text(const cuda_whole::MemoryOf& memory) const;
  std::string text(const cuda_whole::StoredIn& stored) const;
  std::string text(const cuda_whole::Address& address) const;
  std::string text(const cuda_whole::BlockOf& block) const;
  std::string text(const cuda_whole::BeforeOf& before);
  void define_before(const Term& sort, const std::string& before);
  const Type& type_of(cuda_whole::Id id) const;

  CudaWholeRoutine& text_;
};

}  // namespace casync::compll
