// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/status.h"
#include "compll/lang/program.h"
#include "compll/load/compiled_text.h"

namespace casync::compll {

/// Files that say no number get one of these by their digest; no built-in codec will.
inline constexpr std::uint8_t kFirstFileNumber = 200;

/// A codec's file, understood: its declarations have a name, a number and the digest of what was read.
struct FileProgram {
  std::shared_ptr<const Program> program;
  CodecText codec;              ///< empty if it can only be interpreted
  std::string why_interpreted;  ///< then: the reason, with its place
};

/// Compiles a program's text to a codec's text. The values of some of `parameters` become part of it: those that
/// types are made of, those without a default, and sizes of blocks that are no power of two. They may name others, too.
/// CompileError: what is wrong with the text, with file, line and column; or a number that a built-in codec has.
/// InvalidArgument: a value that a parameter does not allow, or none of a parameter that has no default.
Result<FileProgram> read_program(const Source& source, std::span<const std::pair<std::string, double>> parameters);

}  // namespace casync::compll
