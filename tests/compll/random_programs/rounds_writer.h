// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace casync::compll::test {

/// As random_program: a program that exchanges one to four times within a step. It knows the gradient as a matrix, and
/// has products, orthonormal vectors, and states of several sizes besides the operators of other programs, but no
/// selections without a count.
std::string random_rounds(std::uint64_t seed);

}  // namespace casync::compll::test
