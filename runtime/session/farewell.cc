// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/farewell.h"

#include <algorithm>

#include "runtime/control/wire/frame.h"
#include "runtime/control/wire/wire.h"

namespace casync::runtime {
namespace {

constexpr std::size_t kMostGradients = (kMostLastWords - 4) / 8;

}  // namespace

std::string encode_farewell(const Farewell& farewell) {
  WireWriter writer;
  writer.u32(farewell.steps);
  const std::size_t count = std::min(farewell.gradients.size(), kMostGradients);
  for (std::size_t i = 0; i < count; ++i) writer.u64(farewell.gradients[i]);
  return writer.take();
}

Result<Farewell> decode_farewell(std::string_view bytes) {
  Farewell farewell;
  if (bytes.empty()) return farewell;
  if (bytes.size() % 8 != 4) return data_loss("last words of " + std::to_string(bytes.size()) + " bytes");
  WireReader reader(bytes);
  farewell.steps = reader.u32();
  farewell.gradients.resize(bytes.size() / 8);
  for (std::uint64_t& key : farewell.gradients) key = reader.u64();
  return farewell;
}

}  // namespace casync::runtime
