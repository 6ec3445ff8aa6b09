// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "compll/lang/program.h"

namespace casync::compll {

// Writes a term's operation in CUDA; operands are text. The functions are those of compll/ops/cuda/scalar.cuh and
// nan.cuh: as any result may be stored, a NaN has the bits of the CPU's.

/// The bytes of so many elements: `4 * n`.
std::string cuda_bytes(const std::string& count, ScalarType type);
/// The width of a section's elements in calls of its functions: their bits, or `kTrits`.
std::string cuda_width(ScalarType type);
std::string cuda_literal(ScalarType type, double number);
std::string cuda_conversion(ScalarType from, ScalarType to, const std::string& operand);
/// An arithmetic operation on single values; `from` is its last operand's type.
std::string cuda_operation(Op op, ScalarType from, const std::vector<std::string>& operands);

/// Bits of the least magnitude that is not finite in the program.
std::string overflow_bits_text(const Program& program);

}  // namespace casync::compll
