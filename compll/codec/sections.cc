// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/sections.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/check.h"

namespace casync::compll {
namespace {

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

void SectionPlaces::add(unsigned bits, Elements count) {
  CASYNC_CHECK(count_ < kMostSections);
  const Bytes begin = round_up(size(), kSectionAlignment);
  places_[count_++] = {bits, count, begin};
}

Status SectionPlaces::check(const PayloadLayout& layout, ConstView payload) const {
  const Result<PayloadFlags> flags = check_header(layout, payload);
  if (!flags) return flags.status();
  Bytes last = kHeaderBytes;
  for (std::size_t i = 0; i < count_; ++i) {
    const SectionPlace& place = places_[i];
    const bool zeros =
        std::all_of(payload.data + last, payload.data + place.begin, [](std::byte b) { return b == std::byte{0}; });
    if (!zeros) return data_loss("payload: the bytes before section " + std::to_string(i) + " are not zero");
    CASYNC_RETURN_IF_ERROR(check_section(place, i, payload.data));
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
