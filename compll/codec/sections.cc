// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/sections.h"

#include <algorithm>
#include <string>

#include "base/check.h"

namespace casync::compll {

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
    const unsigned used = place.count * place.bits % 8;
    if (used != 0 && std::to_integer<unsigned>(payload.data[place.end() - 1]) >> used != 0) {
      return data_loss("payload: the bits behind section " + std::to_string(i) + " are not zero");
    }
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
