// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/sections.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

namespace casync::compll {
namespace {

bool are_zeros(const std::byte* from, const std::byte* end) {
  std::uint64_t word = 0, any = 0;
  constexpr std::ptrdiff_t kWord = sizeof word;
  if (end - from >= kWord) {  // the last word may begin within the one ahead of it
    for (; from < end - kWord; from += kWord) {
      std::memcpy(&word, from, sizeof word);
      any |= word;
    }
    std::memcpy(&word, end - kWord, sizeof word);
    return (any | word) == 0;
  }
  for (; from < end; ++from) any |= std::to_integer<std::uint64_t>(*from);
  return any == 0;
}

/// Returns true if any bytes are valid there: no bits are left over, and any pattern is an element.
bool takes_any_bytes(const SectionPlace& place) { return place.bits != kTrits && place.count * place.bits % 8 == 0; }

/// Returns true if any of these bytes is too large for five trits.
bool any_above_trits(std::span<const std::byte> bytes) {
  constexpr std::uint64_t kEach = 0x0101010101010101;
  const auto above = [&](std::uint64_t word) {
    return (((word & 0x7f * kEach) + (256 - kTrits) * kEach) & word & 0x80 * kEach) != 0;
  };
  bool any = false;
  std::uint64_t word = 0;
  std::size_t i = 0;
  for (; i + sizeof word <= bytes.size(); i += sizeof word) {
    std::memcpy(&word, bytes.data() + i, sizeof word);
    any |= above(word);
  }
  word = 0;
  if (i < bytes.size()) std::memcpy(&word, bytes.data() + i, bytes.size() - i);
  return any || above(word);
}

}  // namespace

void repeat_last_entry(const SectionPlace& place, Elements stored, Elements end, std::byte* payload) {
  const Bytes entry = place.bits / 8, all = (end - stored) * entry;
  std::byte* const to = payload + place.begin + stored * entry;
  const std::byte* const from = to - entry;  // it and all that follow are equal
  for (Bytes done = 0; done < all;) {
    const Bytes part = std::min(done + entry, all - done);
    std::memcpy(to + done, from, part);
    done += part;
  }
}

PayloadLayout layout_of(const CodecInfo& info, Elements n, Elements block, Bytes size) {
  return {.codec = info.number,
          .version = info.version,
          .program = fingerprint_of(info.digest),
          .n = n,
          .block = block,
          .size = size};
}

Status check_section(const SectionPlace& place, std::size_t section, const std::byte* payload) {
  const auto fault = [section](const char* before, const char* after) {
    return data_loss("payload: " + std::string(before) + "section " + std::to_string(section) + after);
  };
  const unsigned last = place.bytes() == 0 ? 0 : std::to_integer<unsigned>(payload[place.end() - 1]);
  if (place.bits == kTrits) {
    if (any_above_trits({payload + place.begin, place.bytes()})) {
      return fault("a byte of ", " is above 242, which are no five trits");
    }
    if (place.count % 5 != 0 && last >= kTritPlaces[place.count % 5]) {
      return fault("the trits behind ", " are not zero");
    }
    return Status::ok();
  }
  const unsigned used = place.count * place.bits % 8;
  if (used != 0 && last >> used != 0) return fault("the bits behind ", " are not zero");
  return Status::ok();
}

Status SectionPlaces::check(const PayloadLayout& layout, ConstView payload) const {
  const Result<PayloadFlags> flags = check_header(layout, payload);
  if (!flags) return flags.status();
  Bytes last = kHeaderBytes;
  for (std::size_t i = 0; i < count_; ++i) {
    const SectionPlace& place = places_[i];
    if (!are_zeros(payload.data + last, payload.data + place.begin))
      return data_loss("payload: the bytes before section " + std::to_string(i) + " are not zero");
    if (!takes_any_bytes(place)) CASYNC_RETURN_IF_ERROR(check_section(place, i, payload.data));
    last = place.end();
  }
  return Status::ok();
}

void SectionPlaces::write_gaps(std::byte* payload) const {
  Bytes last = kHeaderBytes;
  for (const SectionPlace& place : all()) {
    std::fill(payload + last, payload + place.begin, std::byte{0});
    last = place.end();
  }
}

}  // namespace casync::compll
