// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace casync::compll::test {

/// A program of the language that is made of random operators, types and sizes, and that the checker accepts: the same
/// one for the same seed on every machine. It avoids only what docs/language.md lists as undefined: NaN never reaches
/// `bits`, `sort` and the selections, and a function to sort by is a strict weak order.
/// A program for tiles has element-wise operators, blocks of powers of two and reductions; others have all operators.
std::string random_program(std::uint64_t seed);

}  // namespace casync::compll::test
