// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "base/status.h"

namespace casync::compll {

/// The end of a program.
struct ProgramEnd {
  int exit_code = 0;      ///< 128 and the signal if one ended it
  int signal = 0;         ///< that signal, or 0
  bool too_late = false;  ///< it was ended, with its children
  std::string said;       ///< its stderr, the first 64 KiB
};

/// Runs `command`, whose first word is a path, without a shell: no input, stdout discarded, messages in English. After
/// so many seconds it is asked to end, so that it removes its temporary files, and killed two seconds later. Where a
/// signal ended it, its children are killed. Unavailable: it cannot be started; says why.
Result<ProgramEnd> run_program(std::span<const std::string> command, double seconds);

/// Says how it ended, for a message: `ended with 1`, `was ended by signal 11 (Segmentation fault)`.
std::string text_of(const ProgramEnd& end);

/// The first twelve lines of such a text, indented, each after a line's end. Long lines are cut, and control characters
/// are question marks: a NUL would end the message, and others are orders to a terminal.
std::string first_lines(const std::string& text);

}  // namespace casync::compll
