// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"
#include "compll/ir/lower.h"

namespace casync::compll {

/// The name of the function that hands over what a program's text defines: generated_int4.
std::string generated_name(const std::string& codec);

/// C++ that computes the codec, sixteen elements at a time, for every instruction set the library is built for.
/// `include` is the path by which the text includes itself, once for each. Unimplemented: what this back end cannot
/// say yet the interpreter can; with its place.
Result<std::string> cpu_text(const Program& program, const Lowered& lowered, const Source& source,
                             const std::string& include);

}  // namespace casync::compll
