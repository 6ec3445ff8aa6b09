// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll {

struct CudaVectorRoutine;

/// Spells operators that make arrays in memory.
class CudaOperators {
 public:
  explicit CudaOperators(CudaVectorRoutine& text) : text_(text) {}

  void write(const cuda_vector::Apply& call);
  void write(const cuda_vector::FillFromLast& work);
  void write(const cuda_vector::Multiply& work);

 private:
  std::string text(const cuda_vector::Tile&) const { return "part"; }
  std::string text(const cuda_vector::ShareOf& share) const;
  std::string text(const cuda_vector::SizeOf& count) const;
  std::string text(const cuda_vector::ElementsOf& elements);
  std::string text(const Term* value);
  std::string text(const cuda_vector::MemoryOf& memory) const;
  std::string text(const cuda_vector::StoredIn& stored) const;
  std::string text(const cuda_vector::Address& address) const;
  std::string text(const cuda_vector::BlockOf& block) const;
  std::string text(const cuda_vector::BeforeOf& before);
  void define_before(const Term& sort, const std::string& before);

  CudaVectorRoutine& text_;
};

}  // namespace casync::compll
