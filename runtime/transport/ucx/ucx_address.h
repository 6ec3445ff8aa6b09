// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace casync::runtime {

/// The address of a rank's UCX worker: a line of text, "casync-ucx2 ucx:tcp <place> <checksum>\n", and UCX's own bytes.
/// The place is the process: its host's mark, its namespace and its number, with dots between.
struct UcxAddress {
  std::string place;
  std::string bytes;  ///< UCX's own

  bool on_this_host() const;
  /// The number of a process that this one can look at, or 0.
  int pid() const;
};

/// The address of this process.
std::string ucx_address_text(const std::string& transport, std::string_view bytes);
/// InvalidArgument: not an address of a transport of this kind and version (says which it is), or damaged.
Result<UcxAddress> read_ucx_address(const std::string& transport, const std::string& text);

}  // namespace casync::runtime
