// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/check/routines.h"

#include <string>
#include <string_view>

namespace casync::compll {
namespace {

bool is_array_of(const Variable& variable, std::string_view type) {
  return variable.type.array && variable.type.name.text == type;
}

bool goes_from(const Function& function, std::string_view from, std::string_view to) {
  return function.results.size() == 1 && function.results.front().name.text == "void" &&
         function.parameters.size() >= 2 && is_array_of(function.parameters[0], from) &&
         is_array_of(function.parameters[1], to);
}

/// The member for a function's role, and the role's name in `what`; null: the function is called by name.
const Function** place_of(const Function& function, Routines& routines, std::string& what) {
  const std::string name(function.name.text);
  const auto found = [&](const char* as, const Function*& place) {
    what = as;
    return &place;
  };
  if (goes_from(function, "float", "uint8")) {
    return name == "merge" ? found("merge", routines.merge) : found("encode", routines.encode);
  }
  if (goes_from(function, "uint8", "float")) return found("decode", routines.decode);
  if (!goes_from(function, "float", "float")) return nullptr;
  return name == "synchronize" ? found("synchronize", routines.synchronize) : found("result", routines.result);
}

}  // namespace

Routines routines_of(const Tree& tree, CodeChecker& code) {
  Routines routines;
  for (const Function& function : tree.functions) {
    std::string what;
    const Function** const place = place_of(function, routines, what);
    if (place == nullptr) {
      declare(function, code);
      continue;
    }
    if (*place != nullptr) code.refuse(function.at, "a second function that is " + what + " by its parameters");
    *place = &function;
  }
  return routines;
}

void declare(const Function& function, CodeChecker& code) {
  Variables& variables = code.variables;
  variables.declare(function.name, Declared::Callable{&function, nullptr, variables.names().depth()});
}

}  // namespace casync::compll
