// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll {

struct CudaWholeRoutine;

/// Spells operators that make arrays in memory.
class CudaOperators {
 public:
  explicit CudaOperators(CudaWholeRoutine& text) : text_(text) {}

  void write(const cuda_whole::Apply& call);
  void write(const cuda_whole::FillFromLast& work);
  void write(const cuda_whole::Multiply& work);

 private:
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

  CudaWholeRoutine& text_;
};

}  // namespace casync::compll
