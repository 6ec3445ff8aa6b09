// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include "compll/codec/payload.h"
#include "compll/codec/tile_codec.h"

namespace casync::compll {

/// Offsets of the sections of a payload: `floats` sections with a float for each block, and the codes.
struct Layout {
  static constexpr std::size_t kMost = 2;
  Bytes statistics[kMost] = {};
  Bytes statistics_size = 0;  ///< bytes of one section
  Bytes codes = kHeaderBytes;
  Bytes size = kHeaderBytes;

  static Layout of(Elements n, Elements block, std::size_t floats, unsigned bits) {
    Layout layout;
    layout.statistics_size = ceil_div(n, block) * sizeof(float);
    for (std::size_t i = 0; i < floats; ++i) {
      layout.statistics[i] = layout.codes;
      layout.codes = round_up(layout.codes + layout.statistics_size, kSectionAlignment);
    }
    layout.size = layout.codes + ceil_div(n * bits, 8);
    return layout;
  }
};

/// The base of the yardsticks. They receive no payload from a peer, so they check no more than its size.
class Yardstick : public TileCodec {
 public:
  Yardstick(const CodecInfo& info, std::size_t floats, unsigned bits) : info_(info), floats_(floats), bits_(bits) {}

  const CodecInfo& info() const override { return info_; }
  Bytes encoded_bound(Elements n) const override { return layout(n).size; }
  Status check(ConstView payload, Elements n) const override {
    return payload.size == encoded_bound(n) ? Status::ok() : data_loss("payload: of another size");
  }
  PayloadForm form(Elements n) const override {
    return {{},
            {.codec = info_.number, .version = info_.version, .n = n, .block = info_.block, .size = layout(n).size}};
  }
  void finish(const PayloadForm& form, bool finite, std::byte* payload) const override {
    const Layout at = layout(form.layout.n);
    write_header(form.layout, finite, payload);
    for (std::size_t i = 0; i < floats_; ++i) {
      const Bytes end = at.statistics[i] + at.statistics_size;
      std::memset(payload + end, 0, round_up(end, kSectionAlignment) - end);
    }
  }

 protected:
  Layout layout(Elements n) const { return Layout::of(n, info_.block, floats_, bits_); }
  /// Offset of the tile's own codes.
  Bytes codes_of(const Tile& tile) const { return layout(tile.n).codes + tile.first * bits_ / 8; }
  Bytes statistics_of(const Tile& tile, std::size_t i = 0) const {
    return layout(tile.n).statistics[i] + tile.first / info_.block * sizeof(float);
  }

 private:
  CodecInfo info_;
  std::size_t floats_;
  unsigned bits_;
};

}  // namespace casync::compll
