// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"
#include "compll/lang/program.h"
#include "compll/lang/source.h"

namespace casync::compll {

/// The name of the function that returns the codec that a program's text defines: generated_int4.
std::string generated_name(const std::string& codec);

/// Declares that function ahead of the text, so that it is visible in an object that hides all other names.
std::string visible_declaration(const std::string& codec);

/// C++ that computes the codec, for every instruction set the library is built for. `include` is the path by which the
/// text includes itself, once for each. Programs whose every loop is one over the elements of a block or of a tile work
/// on tiles, sixteen elements at a time; the others have the vector form. Unimplemented, with the place: the program
/// fits neither.
Result<std::string> cpu_text(const Program& program, const Source& source, const std::string& include);

}  // namespace casync::compll
