// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/addition_text.h"

#include "compll/codegen/text/operation_text.h"

namespace casync::compll {

std::string addition_text(ScalarType element) {
  const std::string type = type_text(element);
  const ScalarType wide = element.is_float() || element == kUintType ? element : kIntType;
  std::string value = operation_text(Op::kAdd, element, {"a", "b"});
  if (element.is_integer() && element.bits != 32) {
    value = conversion_text(wide, element, operation_text(Op::kAdd, wide, {"int32_t(a)", "int32_t(b)"}));
  }
  return "[](" + type + " a, " + type + " b) HWY_ATTR -> " + type + " { return " + value + "; }";
}

}  // namespace casync::compll
