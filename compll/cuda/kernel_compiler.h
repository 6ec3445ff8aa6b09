// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "base/status.h"

namespace casync::compll {

/// NVRTC in a process of its own (compile_kernels.h), so that it can neither crash this one nor hold it up. Its threads
/// may compile at the same time.
class KernelCompiler {
 public:
  /// Finds `compile_kernels` in `casync/` beside this library or in ../lib, and asks it for NVRTC's version, once in a
  /// process. Unavailable: there is no such program, or it finds no NVRTC. CompileError, Timeout, InvalidArgument: as
  /// of compiled().
  static Result<const KernelCompiler*> find();

  const std::string& name() const { return name_; }  ///< `NVRTC 13.0`
  bool has_fast_compile() const;                     ///< it knows --Ofast-compile

  /// Compiles `kernel` of a text to machine code for an architecture, `sm_90`. After a crash it tries once more, in a
  /// new process, whose memory lies elsewhere. Unavailable: NVRTC does not know an option, such as the architecture; no
  /// folder for its files. CompileError: NVRTC refuses the text, crashed five times, or made what is no code of this
  /// kernel. Timeout: it took over CASYNC_COMPILE_SEC. Internal: NVRTC says that it failed. InvalidArgument: that
  /// variable is no number. Each names the kernel.
  Result<std::string> compiled(const std::string& text, const std::string& kernel, const std::string& architecture,
                               std::span<const std::string> options) const;

 private:
  static Result<KernelCompiler> start();

  std::string program_;  ///< its path
  std::string name_;
};

}  // namespace casync::compll
