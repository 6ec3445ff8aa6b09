// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compll/lang/program.h"

namespace casync::compll {

/// The number in the fewest digits that give it again.
std::string shortest(double value);

/// A whole number of an integer type in C++: digits only, as C++ reads `1e+05` as a real.
std::string integer_literal(ScalarType type, double number);

/// The operator that C++ has between two operands of this type; "" if it has none.
std::string_view sign_of(Op op, ScalarType type);

/// The operation as a function, or as the operator in front of its operand; "" if it is neither.
std::string_view function_of(Op op);

/// The C++ type that holds one element; integers of fewer bits are kept in 32.
std::string type_text(ScalarType type);

/// A number that the type can hold.
std::string literal_text(ScalarType type, double number);

/// The condition that no element is infinite, NaN, or as large as the program's overflow: `top` is the largest
/// magnitude of the elements.
std::string finite_text(const Program& program, const std::string& top);

/// The negative of an operand. An operand that begins with a sign stands in parentheses: `--x` is another operator.
std::string negation_text(const std::string& operand);

/// An Op::kConvert of one element, or an operation with operands of type `from`, by the names of compll/ops/scalar.h.
std::string conversion_text(ScalarType from, ScalarType to, const std::string& operand);
std::string operation_text(Op op, ScalarType from, const std::vector<std::string>& operands);

/// A reducer's call, over the `count` elements of `from`. Calls `fold` if the program has a reduction function of its
/// own: it returns the initial value and the function's name.
std::string reduction_text(const Term& term, const std::string& count, const std::string& from,
                           const std::function<std::string()>& fold);

}  // namespace casync::compll
