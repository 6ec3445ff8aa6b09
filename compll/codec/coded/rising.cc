// SPDX-License-Identifier: Apache-2.0
//
// Places in ascending order, the last ones of which may be kNowhere:
//
//   u8 k, u16 count of the places that are not kNowhere at the end; if there are any, u32 the first one, then the
//   distances of the others to the one before, less one, by Rice's code: distance >> k as so many zeros, a one, and the
//   lowest k bits. 24 zeros and a one stand ahead of a distance of 32 bits as it is
//
// Among n places chosen at random with probability p a distance has about 0.03 bits more than its entropy (Golomb 1966;
// Rice and Plaunt 1971). Places in another order are distances modulo 2^32.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "compll/codec/coded/bit_stream.h"
#include "compll/codec/coded/coded_block.h"

namespace casync::compll {
namespace {

constexpr std::uint32_t kNowhere = 0xffffffff;
constexpr unsigned kLongest = 24, kMostRice = 31;
constexpr Bytes kRisingHead = 3;

/// The number of low bits with which distances of this mean take the fewest: 2^k is near to mean x ln 2.
unsigned rice_of(std::uint64_t sum, Elements count) {
  if (count == 0) return 0;
  const std::uint64_t scaled = sum / count * 177 / 256;
  return std::min(kMostRice, static_cast<unsigned>(std::bit_width(scaled | 1)) - 1);
}

/// Reads a block's code. `places` null: only checks it.
bool read_places(const CodedElements& block, ConstView code, std::uint32_t* places) {
  if (code.size < kRisingHead) return false;
  const auto rice = std::to_integer<unsigned>(code.data[0]);
  std::uint16_t count;
  std::memcpy(&count, code.data + 1, sizeof count);
  if (rice > kMostRice || count > block.count) return false;
  if (places != nullptr) std::fill(places + count, places + block.count, kNowhere);
  if (count == 0) return rice == 0 && code.size == kRisingHead;
  std::uint32_t place;
  if (code.size < kRisingHead + sizeof place) return false;
  std::memcpy(&place, code.data + kRisingHead, sizeof place);
  if (places != nullptr) places[0] = place;
  BitReader bits(code.slice(kRisingHead + sizeof place, code.size - kRisingHead - sizeof place));
  for (Elements i = 1; i < count; ++i) {
    const std::uint64_t word = bits.peek();
    if (rice == 0 && (word & 3) == 3) {  // places side by side
      const Elements run = std::min<Elements>(static_cast<Elements>(std::countr_one(word)), count - i);
      for (Elements k = 0; k < run && places != nullptr; ++k) places[i + k] = place + 1 + static_cast<std::uint32_t>(k);
      place += static_cast<std::uint32_t>(run);
      bits.skip(static_cast<unsigned>(run));
      i += run - 1;
      continue;
    }
    const unsigned zeros = static_cast<unsigned>(std::countr_zero(word));
    if (zeros > kLongest) return false;
    const unsigned low = zeros == kLongest ? 32 : rice;
    const auto rest = static_cast<std::uint32_t>(word >> (zeros + 1) & low_ones(low));
    const std::uint64_t distance = zeros == kLongest ? rest : std::uint64_t{zeros} << rice | rest;
    bits.skip(zeros + 1 + low);
    if (distance > kNowhere || bits.is_beyond()) return false;
    place += static_cast<std::uint32_t>(distance) + 1;
    if (places != nullptr) places[i] = place;
  }
  return bits.at_end();
}

}  // namespace

Bytes write_rising(const CodedElements& block, const std::byte* plain, std::byte* out) {
  std::array<std::uint32_t, kCodedBlock> places;
  unpack_plain(block, plain, places.data());
  Elements count = block.count;
  while (count != 0 && places[count - 1] == kNowhere) --count;
  std::uint64_t sum = 0;
  for (Elements i = 1; i < count; ++i) sum += places[i] - places[i - 1] - 1;
  const unsigned rice = rice_of(sum, count <= 1 ? 0 : count - 1);
  const auto sent = static_cast<std::uint16_t>(count);
  out[0] = static_cast<std::byte>(rice);
  std::memcpy(out + 1, &sent, sizeof sent);
  if (count == 0) return kRisingHead < block.plain_bytes() ? kRisingHead : 0;
  std::memcpy(out + kRisingHead, places.data(), sizeof places[0]);
  BitWriter bits(out + kRisingHead + sizeof places[0]);
  for (Elements i = 1; i < count; ++i) {
    const std::uint32_t distance = places[i] - places[i - 1] - 1;
    const std::uint32_t zeros = distance >> rice;
    if (zeros < kLongest) {
      bits.put(std::uint64_t{1} << zeros | (distance & low_ones(rice)) << (zeros + 1), zeros + 1 + rice);
    } else {
      bits.put(std::uint64_t{1} << kLongest, kLongest + 1);
      bits.put(distance, 32);
    }
  }
  const Bytes size = kRisingHead + sizeof places[0] + bits.finish();
  return size < block.plain_bytes() ? size : 0;
}

bool check_rising(const CodedElements& block, ConstView code) { return read_places(block, code, nullptr); }

Elements different_in_rising(ConstView code) {
  std::uint16_t count;
  std::memcpy(&count, code.data + 1, sizeof count);
  return count;
}

void read_rising(const CodedElements& block, ConstView code, std::byte* plain) {
  std::array<std::uint32_t, kCodedBlock> places;
  static_cast<void>(read_places(block, code, places.data()));
  pack_plain(block, places.data(), plain);
}

}  // namespace casync::compll
