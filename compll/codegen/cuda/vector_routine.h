// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/codegen/cuda/vector_definitions.h"
#include "compll/codegen/cuda/vector_operators.h"
#include "compll/codegen/cuda/vector_reductions.h"
#include "compll/codegen/cuda/vector_selection.h"
#include "compll/codegen/cuda/vector_stages.h"
#include "compll/codegen/cuda/vector_values.h"
#include "compll/codegen/cuda/vector_works.h"
#include "compll/codegen/text/writer.h"
#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll {

/// Spells a launch as a struct whose functions are its stages. Each stage has the names that it refers to. Each part is
/// a class of one subject.
struct CudaVectorRoutine {
  CudaVectorRoutine(const cuda_vector::Routine& of, Writer& writer) : plan(of), program(*of.program), out(writer) {}
  CudaVectorRoutine(const CudaVectorRoutine&) = delete;
  CudaVectorRoutine& operator=(const CudaVectorRoutine&) = delete;

  const cuda_vector::Routine& plan;
  const Program& program;
  Writer& out;
  CudaDefinitions definitions{*this};
  CudaValues values{*this};
  CudaWorks works{*this};
  CudaOperators operators{*this};
  CudaReductions reductions{*this};
  CudaSelection selection{*this};
  CudaStages stages{*this};
};

}  // namespace casync::compll
