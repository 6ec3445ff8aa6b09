// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/status.h"
#include "runtime/device/device.h"
#include "runtime/executor/gradient_run.h"

namespace casync::runtime {

/// The kernels of the codecs of all gradients on one device. Codecs of one name and with the same parameters share
/// theirs.
///
/// Threads: one at a time.
class KernelTable {
 public:
  /// Borrows `device`, which outlives this. `scale`: of the last merge.
  KernelTable(Device& device, float scale) : device_(device), scale_(scale) {}

  /// Finds the kernels of the gradient's codecs. A codec that exchanges within a step gets room on the device for the
  /// floats that its turns keep. Unimplemented: a codec has no kernels. Unavailable: no memory, or the device failed.
  Status take_in(GradientRun& run);

  /// Gives the kernels of a codec whose gradient was taken in.
  CodecKernels& of(const compll::Codec& codec) const { return *by_codec_.at(&codec); }
  TurnKernels& of(const compll::RoundsCodec& codec) const { return *by_rounds_codec_.at(&codec); }
  /// Gives the codec whose result is each element as a whole number, times `scale`: 1, or that of the last merge of a
  /// gradient that was taken in and exchanges whole numbers.
  const compll::Codec& whole(float scale) const { return *whole_.at(scale); }

 private:
  Status find(const std::string& name, const compll::Codec& codec);
  Status find_turns(GradientRun& run);
  Status find_whole(float scale);

  Device& device_;
  const float scale_;
  std::map<std::string, std::unique_ptr<CodecKernels>> kernels_;  ///< by the codec as text
  std::unordered_map<const compll::Codec*, CodecKernels*> by_codec_;
  std::map<std::string, std::unique_ptr<TurnKernels>> turns_;  ///< by the codec as text
  std::unordered_map<const compll::RoundsCodec*, TurnKernels*> by_rounds_codec_;
  std::map<float, std::unique_ptr<compll::Codec>> whole_;  ///< by their scale
};

}  // namespace casync::runtime
