// SPDX-License-Identifier: Apache-2.0
//
// The places of a payload's sections (docs/payloads.md): one after the other, each from a multiple of 16 bytes on,
// with zeros between them.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "base/check.h"
#include "base/status.h"
#include "base/units.h"
#include "base/view.h"
#include "compll/codec/codec.h"
#include "compll/codec/payload.h"
#include "compll/ops/generated.h"
#include "compll/ops/trits.h"

namespace casync::compll {

/// `count` elements of `bits` bits, the lowest bits of a byte first; or trits.
struct SectionPlace {
  unsigned bits;
  Elements count;
  Bytes begin;

  Bytes bytes() const { return bytes_of_section(bits, count); }
  Bytes end() const { return begin + bytes(); }
};

/// The sections of one payload; none if it has no elements.
class SectionPlaces {
 public:
  SectionPlaces() {}  // NOLINT(modernize-use-equals-default): places_ stays as it is, for a small tensor's sake

  /// Adds a section; at most kMostSections.
  void add(unsigned bits, Elements count) {
    CASYNC_CHECK(count_ < kMostSections);
    const SectionPlace& place = places_[count_++] = {bits, count, round_up(size_, kSectionAlignment)};
    size_ = place.end();
  }
  /// Bytes of the whole payload, header included.
  Bytes size() const { return size_; }
  std::span<const SectionPlace> all() const { return {places_.data(), count_}; }
  const SectionPlace& operator[](std::size_t i) const { return places_[i]; }

  /// DataLoss: the header is not that of `layout`, or bits that belong to no element are not zero.
  Status check(const PayloadLayout& layout, ConstView payload) const;
  /// Writes zeros between the sections.
  void write_gaps(std::byte* payload) const;

 private:
  std::array<SectionPlace, kMostSections> places_;
  std::size_t count_ = 0;
  Bytes size_ = kHeaderBytes;
};

/// DataLoss: bits or trits behind the last element of `section` are not zero, or a byte holds no five trits.
Status check_section(const SectionPlace& place, std::size_t section, const std::byte* payload);

/// The layout of a payload of n elements. `block`: the elements that share the statistics it has, 1 if it has none.
PayloadLayout layout_of(const CodecInfo& info, Elements n, Elements block, Bytes size);

/// Entries of each section that are stored. All entries behind the last of them equal that one.
using StoredEntries = std::array<Elements, kMostSections>;

/// Stores entries [stored, end) of a section whose entries are whole bytes; 0 < stored <= end.
void repeat_last_entry(const SectionPlace& place, Elements stored, Elements end, std::byte* payload);

/// All of a payload that n and the codec's parameters decide.
struct PayloadForm {
  SectionPlaces places;
  PayloadLayout layout;
};

/// Payloads that are a header and sections, whose sizes depend on n and on the codec's parameters alone.
class SectionedPayload {
 public:
  virtual SectionPlaces places(Elements n) const = 0;
  virtual PayloadLayout layout(Elements n) const = 0;

 protected:
  ~SectionedPayload() = default;
};

/// Sections of a payload that are one value for the tensor each, except one that has a bit for each element.
struct BitPlaces {
  SectionPlaces sections;
  std::size_t codes_section = 0;

  const SectionPlace& codes() const { return sections[codes_section]; }
};

}  // namespace casync::compll
