// SPDX-License-Identifier: Apache-2.0
//
// The interface of `compile_kernels`, the program that NVRTC runs in: a crash or a hang of NVRTC ends that program, and
// not a training. It writes its result to a file and messages to stderr.
//
//   compile_kernels version RESULT                  writes NVRTC's version, `13.0`
//   compile_kernels compile RESULT TEXT OPTION...   writes the machine code of the text in the file TEXT
#pragma once

namespace casync::compll {

inline constexpr const char* kKernelCompiler = "compile_kernels";

/// The exit codes of `compile_kernels` other than 0. No run time ends a program with these.
enum KernelCompilerCode : int {
  kTextRefused = 40,   ///< stderr has NVRTC's messages about the text
  kNotAvailable = 41,  ///< no NVRTC, or it does not know an option, such as the architecture
  kNvrtcFailed = 42,   ///< NVRTC says that it failed
  kWrongArguments = 43,
  kNoResult = 44,  ///< RESULT cannot be written
};

}  // namespace casync::compll
