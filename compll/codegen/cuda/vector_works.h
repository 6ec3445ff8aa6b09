// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll {

struct CudaVectorRoutine;

/// Spells work that moves elements: from the input, to memory, and to what the launch gives.
class CudaWorks {
 public:
  explicit CudaWorks(CudaVectorRoutine& text) : text_(text) {}

  /// Spells any work.
  void write(const cuda_vector::Work& work);

  /// The vector to encode, as the class and the arguments that take it: `<0x7f800000u>` and `part, at.input`.
  std::string input_kind() const;
  std::string input_arguments() const;

  /// The array of a scatter's values; of one value everywhere a function that gives it.
  std::string values(const std::optional<cuda_vector::Id>& values, const Term& scatter);

 private:
  void write_work(const cuda_vector::TakeInput& work);
  void write_work(const cuda_vector::Fill& work);
  void write_work(const cuda_vector::Send& work);
  void write_work(const cuda_vector::KeepState& work);
  void write_work(const cuda_vector::StoreOne& work);
  void write_work(const cuda_vector::GiveZeros& work);
  void write_work(const cuda_vector::GiveList& work);
  void write_work(const cuda_vector::Give& work);
  void write_work(const cuda_vector::GiveCopied& work);
  void write_work(const cuda_vector::Change& work);
  void write_work(const cuda_vector::SubtractDecoded& work);
  /// Other work has a class of its own.
  template <class Kind>
  void write_work(const Kind& work);

  CudaVectorRoutine& text_;
};

}  // namespace casync::compll
