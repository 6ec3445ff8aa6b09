// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <variant>

#include "compll/lang/program.h"

namespace casync::compll {

/// A value within the formula of a size. Integers of every width have 64 bits here: int64 of signed types and trits,
/// uint64 of unsigned ones (compll/ops/sizes.h).
using SizeValue = std::variant<long long, unsigned long long, float, double, bool>;

/// `number`, which the type can hold.
SizeValue size_value(ScalarType type, double number);

/// Op::kConvert to this type. Integers narrower than 32 bits, and trits, keep their ends.
SizeValue converted_size(const SizeValue& value, ScalarType to);

/// An operation with one or two operands of the same type, from Op::kNegate to Op::kMax.
SizeValue computed_size(Op op, std::span<const SizeValue> operands);

}  // namespace casync::compll
