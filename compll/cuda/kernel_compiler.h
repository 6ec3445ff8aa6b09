// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace casync::compll {

/// The options that every NVRTC compiles kernels with.
// --fmad: docs/language.md promises that nothing is contracted.
// Generic lambdas cannot be marked as device code in any other way.
inline constexpr const char* kKernelOptions[] = {"--std=c++20", "--fmad=false", "--device-as-default-execution-space"};

/// Returns true for `compute_90`, whose code is PTX, which a driver compiles; false for `sm_90`.
inline bool is_virtual(std::string_view architecture) { return architecture.starts_with("compute_"); }

/// NVRTC in a process of its own (compile_kernels.h), so that it can neither crash this one nor hold it up. Its threads
/// may compile at the same time.
class KernelCompiler {
 public:
  /// Finds `compile_kernels` in `casync/` in one of library_folders(), and asks it for NVRTC's version, once in a
  /// process. Unavailable: there is no such program, or it finds no NVRTC. CompileError, Timeout, InvalidArgument: as
  /// of compiled().
  static Result<const KernelCompiler*> find();

  const std::string& name() const { return name_; }  ///< `NVRTC 13.0`
  std::vector<std::string> options() const;          ///< kKernelOptions, and what only newer ones know

  /// Compiles kernels of a text to machine code for an architecture, `sm_90`, or to PTX, `compute_90`. After a crash it
  /// tries once more, in a new process, whose memory lies elsewhere. Unavailable: NVRTC does not know an option, such
  /// as the architecture; no folder for its files. CompileError: NVRTC refuses the text, crashed five times, or made
  /// what is no code of these kernels. Timeout: it took over CASYNC_COMPILE_SEC. Internal: NVRTC says that it failed.
  /// InvalidArgument: that variable is no number. Each names the kernels.
  Result<std::string> compiled(const std::string& text, std::span<const std::string> kernels,
                               const std::string& architecture, std::span<const std::string> options) const;

 private:
  static Result<KernelCompiler> start();

  std::string program_;  ///< its path
  std::string name_;
};

}  // namespace casync::compll
