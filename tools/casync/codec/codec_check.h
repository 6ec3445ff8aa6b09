// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace casync::tools {

struct CodecCheck {
  /// kAuto: on the CPU, and on a GPU where this machine has one; kAll: it has to.
  enum class Device { kAuto, kCpu, kCuda, kAll };

  std::string file;
  std::vector<std::pair<std::string, double>> parameters;
  double seconds = 0;  ///< for each measurement of speed; 0: none
  bool as_json = false;
  Device device = Device::kAuto;
};

/// `casync codec check`: compiles a codec's file, tries what it has to keep, measures, and prints all of it. `holds`
/// says whether it keeps everything. Errors as make_codec, and as check_on_cuda where a GPU is asked for.
Status check_codec_file(const CodecCheck& check, bool* holds);

}  // namespace casync::tools
