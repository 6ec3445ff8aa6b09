// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace casync::compll {

/// The addresses of a tile in a payload: the values that each block shares (scales or means), and the codes.
struct CodeTile {
  const std::byte* scales = nullptr;
  const std::byte* codes = nullptr;
};

}  // namespace casync::compll
