// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/wire/wire.h"

namespace casync::runtime {

WireWriter& WireWriter::integer(std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) bytes_ += static_cast<char>(value >> (8 * i));
  return *this;
}

WireWriter& WireWriter::raw(std::string_view bytes) {
  bytes_ += bytes;
  return *this;
}

WireWriter& WireWriter::text(std::string_view bytes) {
  return u32(static_cast<std::uint32_t>(bytes.size())).raw(bytes);
}

std::string_view WireReader::raw(Bytes count) {
  if (!ok_ || count > bytes_.size()) {
    ok_ = false;
    return {};
  }
  const std::string_view taken = bytes_.substr(0, count);
  bytes_.remove_prefix(count);
  return taken;
}

std::uint64_t WireReader::integer(int bytes) {
  const std::string_view taken = raw(static_cast<Bytes>(bytes));
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(taken[i])} << (8 * i);
  }
  return value;
}

std::string_view WireReader::text(Bytes most) {
  const Bytes size = u32();
  if (size > most) ok_ = false;
  return raw(size);
}

}  // namespace casync::runtime
