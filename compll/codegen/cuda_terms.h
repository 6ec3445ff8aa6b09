// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "compll/lang/program.h"

namespace casync::compll {

// How a term's operation is written for CUDA, of operands that are text. The functions are those of
// compll/ops/cuda/scalar.cuh and nan.cuh: whatever is computed may be stored, so a NaN has the bits of the CPU's.

/// So many elements' bytes: `4 * n`.
std::string cuda_bytes(const std::string& count, ScalarType type);
/// What a section's functions are told of its elements: their bits, or `kTrits`.
std::string cuda_width(ScalarType type);
std::string cuda_literal(ScalarType type, double number);
std::string cuda_conversion(ScalarType from, ScalarType to, const std::string& operand);
/// Of an arithmetic operation on one value, `from` being its last operand's type.
std::string cuda_operation(Op op, ScalarType from, const std::vector<std::string>& operands);

/// Bits of the least magnitude that the program calls not finite.
std::string overflow_bits_text(const Program& program);

}  // namespace casync::compll
