// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compll/lang/program.h"

namespace casync::compll {

/// The fewest digits that give the number again.
std::string shortest(double value);

/// A whole number of an integer type in C++: digits only, as C++ reads `1e+05` as a real.
std::string integer_literal(ScalarType type, double number);

/// What C++ writes between two operands of this type, or "" where it writes something else.
std::string_view sign_of(Op op, ScalarType type);

/// The operation as a function, or as what stands before its operand; "" where it is neither.
std::string_view function_of(Op op);

/// The C++ type that holds one element; integers of fewer bits lie in 32.
std::string type_text(ScalarType type);

/// Whether many codes of this type are packed together (compll/ops/cpu/packed-inl.h).
bool is_packed(ScalarType type);

/// A number that the type can hold.
std::string literal_text(ScalarType type, double number);

/// Whether no element is infinite or NaN, or as large as what the program says becomes infinite: by the largest
/// magnitude of them.
std::string finite_text(const Program& program, const std::string& top);

/// The negative of an operand. An operand that begins with a sign stands in parentheses: `--x` is another operator.
std::string negation_text(const std::string& operand);

/// Op::kConvert of one element, or an operation with operands of type `from`, by the names of compll/ops/scalar.h.
std::string conversion_text(ScalarType from, ScalarType to, const std::string& operand);
std::string operation_text(Op op, ScalarType from, const std::vector<std::string>& operands);

/// A reducer's call, over `count` elements that `from` gives. `fold` is asked where the program has a function of its
/// own: what that begins with, and its name.
std::string reduction_text(const Term& term, const std::string& count, const std::string& from,
                           const std::function<std::string()>& fold);

}  // namespace casync::compll
