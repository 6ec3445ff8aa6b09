// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/random_programs/statements.h"

namespace casync::compll::test {

void Statements::write_any() {
  const std::uint32_t which = choices_.below(declared_.for_tiles ? 10 : 21);
  switch (which) {
    case 0:
    case 1: return write_scalar();
    case 2:
    case 3:
      return static_cast<void>(operators_.map(operators_.array_of(text_.any_extent()).extent, expressions_.any_type()));
    case 4: return operators_.write_reduction();
    case 5: return static_cast<void>(operators_.block_reduction(choices_.of(declared_.blocks)));
    case 6: return operators_.write_spread();
    case 7: return operators_.write_several();
    case 8: return write_choice();
    case 9: return choices_.one_in(3) ? operators_.write_hadamard() : operators_.write_reduction();
    case 10:
    case 11: return static_cast<void>(operators_.places(choices_.of(declared_.sizes)));
    case 12: return operators_.write_kth_largest();
    case 13: return operators_.write_filter_or_sort();
    case 14: return operators_.write_gather();
    case 15: return operators_.write_scatter();
    case 16: return operators_.write_call();
    case 17:
    case 18: return operators_.write_change();
    case 19: return operators_.write_another_name();
    default: return operators_.write_hadamard();
  }
}

void Statements::write_scalar() {
  const TypeWord type = expressions_.any_type();
  const std::string name = text_.fresh("v");
  text_.line("  " + type.text + " " + name + " = " + expressions_.any(text_.outside(), 3).text + ";");
  text_.add_scalar(name, type.kind);
}

void Statements::write_choice() {
  const std::string name = text_.fresh("c");
  text_.line("  float " + name + " = " + expressions_.number(text_.outside(), 2).text + ";");
  if (choices_.one_in(3)) {
    text_.line("  repeat (" + std::to_string(choices_.between(0, 3)) + ") { " + name + " = " + name + " * 0.5 + " +
               expressions_.number(text_.outside(), 1).text + "; }");
  } else {
    text_.line(
        "  if (" + expressions_.condition(text_.outside(), 2) + ") { " + name + " = " +
        expressions_.number(text_.outside(), 2).text + "; }" +
        (choices_.one_in(2) ? " else { " + name + " += " + expressions_.number(text_.outside(), 1).text + "; }" : ""));
  }
  text_.add_scalar(name, Kind::kFloat);
}

}  // namespace casync::compll::test
