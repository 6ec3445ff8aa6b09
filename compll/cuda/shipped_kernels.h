// SPDX-License-Identifier: Apache-2.0
//
// Kernels of built-in codecs that were compiled when the library was built (ship_kernels.cc). A file
// FOLDER/ARCHITECTURE/CODEC has all kernels of a codec for one architecture: a mark, then machine code for `sm_90`, PTX
// for `compute_100`, then the seal of an entry of the cache (compll/load/cache.h).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "compll/codegen/cuda/codec_text.h"

namespace casync::compll {

class ShippedKernels {
 public:
  /// Looks in $CASYNC_KERNEL_DIR, else in `casync/kernels` in library_folders(). Without such a folder there are no
  /// architectures.
  static ShippedKernels find();
  /// Takes the kernels of a folder.
  explicit ShippedKernels(std::filesystem::path folder);

  const std::vector<std::string>& architectures() const { return architectures_; }  ///< sorted
  /// The codecs that have a file for one of them, sorted.
  std::vector<std::string> codecs(const std::string& architecture) const;

  /// Returns a codec's code for one architecture, if it was compiled from this text and these headers (Headers::digest)
  /// and its file is whole.
  std::optional<std::string> code(const CudaCodecText& codec, const std::string& headers,
                                  const std::string& architecture) const;

  enum class Kind { kMachineCode, kPtx };
  /// The same for the best architecture whose code runs on a device of architecture `device`, `sm_90`.
  std::optional<std::string> code_on(const std::string& device, Kind kind, const CudaCodecText& codec,
                                     const std::string& headers) const;

  /// Writes a codec's code, over what was there. Unavailable: it cannot be written.
  Status write(const CudaCodecText& codec, const std::string& headers, const std::string& architecture,
               const std::string& code) const;

 private:
  std::filesystem::path file(const std::string& codec, const std::string& architecture) const;

  std::filesystem::path folder_;
  std::vector<std::string> architectures_;
};

/// Returns true if code for `architecture` runs on a device of architecture `device`. Machine code runs on devices of
/// its major version, from its own minor version on, and on a Tegra only if it was made for that Tegra; PTX on all from
/// its own version on. Source: CUDA Programming Guide, Binary Compatibility and PTX Compatibility.
bool runs_on(const std::string& architecture, const std::string& device);

}  // namespace casync::compll
