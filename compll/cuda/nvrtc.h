// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/status.h"

namespace casync::compll {

/// NVIDIA's compiler as a library, loaded at the first use, until the process ends. It has crashed and may hang, so
/// only `compile_kernels` loads it.
class Nvrtc {
 public:
  /// Finds it: $CASYNC_NVRTC; else the loader's own; else in the Python packages next to ours or of $VIRTUAL_ENV, and
  /// in a CUDA toolkit. Unavailable: it is in none of these.
  static Result<const Nvrtc*> find();

  const std::string& version() const { return version_; }  ///< `13.0`

  /// Compiles CUDA C++ to a device's machine code; for a virtual architecture, `compute_90`, to PTX with a zero at its
  /// end. CompileError: NVRTC's messages about the text. Unavailable: NVRTC does not know an option, such as the
  /// architecture. Internal: NVRTC itself fails.
  Result<std::string> compiled(const std::string& text, std::span<const std::string> options) const;

 private:
  using Code = int;
  using Handle = void*;  ///< a program to compile

  static Result<Nvrtc> load();
  static Result<Nvrtc> from(void* library, const std::string& path);
  std::string text_of(Code code) const { return error_text_(code); }
  std::string log_of(Handle program) const;

  std::string version_;
  Code (*make_)(Handle* program, const char* text, const char* name, int headers, const char* const* contents,
                const char* const* names) = nullptr;
  Code (*compile_)(Handle program, int count, const char* const* options) = nullptr;
  Code (*log_size_)(Handle program, std::size_t* size) = nullptr;
  Code (*log_)(Handle program, char* log) = nullptr;
  Code (*cubin_size_)(Handle program, std::size_t* size) = nullptr;  ///< 0 for a virtual architecture
  Code (*cubin_)(Handle program, char* cubin) = nullptr;
  Code (*ptx_size_)(Handle program, std::size_t* size) = nullptr;
  Code (*ptx_)(Handle program, char* ptx) = nullptr;
  Code (*end_)(Handle* program) = nullptr;
  const char* (*error_text_)(Code error) = nullptr;
};

}  // namespace casync::compll
