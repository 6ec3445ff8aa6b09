// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/coded/frequent_bytes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <span>

#include "compll/codec/coded/bit_stream.h"
#include "compll/ops/cpu/byte_planes.h"

namespace casync::compll {
namespace {

constexpr unsigned kSame = 0, kAsTheyAre = 8, kMostWidth = 4;
constexpr unsigned kMostNested = 2;  // sequences with codes, one in the other
constexpr Elements kGroup = 8;       // codes that end with a byte

constexpr unsigned escape_of(unsigned width) { return (1u << width) - 1; }
constexpr Bytes head_of(unsigned width) { return 1 + escape_of(width) + sizeof(std::uint16_t); }
constexpr Bytes code_bytes(unsigned width, Elements count) { return ceil_div(count * width, Bytes{8}); }

/// The values that are frequent enough to be worth a code, the most frequent ones first.
class Frequent {
 public:
  Frequent(const std::uint8_t* bytes, Elements count) {
    // Four counts, as a value that repeats would wait for its own count to be stored.
    std::array<std::array<std::uint32_t, 256>, 4> counts{};
    Elements i = 0;
    for (; i + 4 <= count; i += 4) {
      for (Elements k = 0; k < 4; ++k) ++counts[k][bytes[i + k]];
    }
    for (; i < count; ++i) ++counts[0][bytes[i]];
    for (unsigned value = 0; value < 256; ++value) {
      const std::uint32_t times = counts[0][value] + counts[1][value] + counts[2][value] + counts[3][value];
      // Half as frequent again as in bytes that are all alike: of noise hardly any value is.
      if (times != 0 && std::size_t{times} * 170 >= count) found_[size_++] = times << 8 | (255 - value);
    }
    std::sort(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(size_), std::greater<>());
  }
  unsigned size() const { return size_; }
  std::uint8_t value(unsigned i) const { return static_cast<std::uint8_t>(255 - (found_[i] & 255)); }
  Elements times(unsigned i) const { return found_[i] >> 8; }

 private:
  std::array<std::uint32_t, 256> found_;  ///< the number of times, above 255 - value
  unsigned size_ = 0;
};

/// The widths of a sequence and of those in it.
struct FrequentForm {
  std::array<unsigned, kMostNested + 1> widths{kAsTheyAre, kAsTheyAre, kAsTheyAre};
  Bytes size = 0;
};

/// The form with the fewest bytes for `count` bytes that have none of the first `known` values.
FrequentForm best_form(const Frequent& frequent, unsigned known, Elements count, unsigned depth) {
  FrequentForm best;
  best.size = 1 + count;
  if (known < frequent.size() && frequent.times(known) == count) {
    best.widths[depth] = kSame;
    best.size = 2;
    return best;
  }
  Elements left = count;
  unsigned upto = known;
  for (unsigned width = 1; width <= kMostWidth && depth < kMostNested && upto < frequent.size(); ++width) {
    for (; upto < std::min(frequent.size(), known + escape_of(width)); ++upto) left -= frequent.times(upto);
    FrequentForm form;
    if (left != 0) form = best_form(frequent, upto, left, depth + 1);
    form.widths[depth] = width;
    form.size += head_of(width) + code_bytes(width, count);
    if (form.size < best.size) best = form;
  }
  return best;
}

class Writer {
 public:
  Writer(const Frequent& frequent, const FrequentForm& form, std::byte* out)
      : frequent_(frequent), form_(form), begin_(out), out_(out) {}

  Bytes run(const std::uint8_t* bytes, Elements count) {
    write(bytes, count, 0);
    return static_cast<Bytes>(out_ - begin_);
  }

 private:
  void write(const std::uint8_t* bytes, Elements count, unsigned depth) {
    const unsigned width = form_.widths[depth];
    put(static_cast<std::uint8_t>(width));
    switch (width) {
      case kSame: return put(bytes[0]);
      case 1: return write_codes<1>(bytes, count, depth);
      case 2: return write_codes<2>(bytes, count, depth);
      case 3: return write_codes<3>(bytes, count, depth);
      case 4: return write_codes<4>(bytes, count, depth);
      default: break;
    }
    std::memcpy(out_, bytes, count);
    out_ += count;
  }

  template <unsigned kWidth>
  void write_codes(const std::uint8_t* bytes, Elements count, unsigned depth) {
    constexpr unsigned kEscape = escape_of(kWidth);
    std::array<std::uint8_t, kEscape> values{};
    const unsigned known = std::min(kEscape, frequent_.size() - known_);
    for (unsigned i = 0; i < known; ++i) values[i] = frequent_.value(known_ + i);
    for (const std::uint8_t value : values) put(value);
    known_ += known;
    std::byte* const escapes_at = out_;
    out_ += sizeof(std::uint16_t);
    std::array<std::uint8_t, kCodedBlock + 1> escaped;
    Elements found = 0;
    if constexpr (kWidth == 2) {
      found = write_two_bits(bytes, count, std::span(values).first(known), out_, escaped.data());
      out_ += code_bytes(kWidth, count);
    } else {
      found = put_codes<kWidth>(bytes, count, std::span(values).first(known), escaped.data());
    }
    const auto escapes = static_cast<std::uint16_t>(found);
    std::memcpy(escapes_at, &escapes, sizeof escapes);
    if (escapes != 0) write(escaped.data(), escapes, depth + 1);
  }

  /// Writes a code for each byte, and stores those without a value in `escaped`. Returns their number.
  template <unsigned kWidth>
  Elements put_codes(const std::uint8_t* bytes, Elements count, std::span<const std::uint8_t> values,
                     std::uint8_t* escaped) {
    constexpr unsigned kEscape = escape_of(kWidth);
    std::array<std::uint8_t, 256> code_of;
    code_of.fill(kEscape);
    for (std::size_t i = 0; i < values.size(); ++i) code_of[values[i]] = static_cast<std::uint8_t>(i);
    std::uint8_t* end = escaped;
    for (Elements i = 0; i < count; i += kGroup) {
      std::uint64_t group = 0;
      for (Elements k = 0; k < std::min(kGroup, count - i); ++k) {
        const unsigned code = code_of[bytes[i + k]];
        group |= std::uint64_t{code} << (k * kWidth);
        *end = bytes[i + k];
        end += code == kEscape ? 1 : 0;
      }
      std::memcpy(out_, &group, sizeof group);
      out_ += code_bytes(kWidth, std::min(kGroup, count - i));
    }
    return static_cast<Elements>(end - escaped);
  }

  void put(std::uint8_t byte) { *out_++ = std::byte{byte}; }

  const Frequent& frequent_;
  const FrequentForm form_;
  std::byte* const begin_;
  std::byte* out_;
  unsigned known_ = 0;
};

/// The parts of a sequence with codes.
struct Parts {
  const std::byte* table = nullptr;
  const std::byte* codes = nullptr;
  Elements escapes = 0;
  ConstView rest;  ///< behind the codes
};

/// The parts at the beginning of `from`, behind the width; codes null: it is too short.
Parts parts_of(ConstView from, unsigned width, Elements count) {
  Parts parts;
  const Bytes end = head_of(width) + code_bytes(width, count);
  if (from.size < end) return parts;
  parts.table = from.data + 1;
  std::uint16_t escapes;
  std::memcpy(&escapes, from.data + 1 + escape_of(width), sizeof escapes);
  parts.escapes = escapes;
  parts.codes = from.data + head_of(width);
  parts.rest = from.slice(end, from.size - end);
  return parts;
}

/// The eight codes of a group, those behind the last one zero.
std::uint64_t group_at(const Parts& parts, unsigned width, Elements first, Elements count) {
  std::uint64_t group = 0;
  std::memcpy(&group, parts.codes + first / kGroup * width, code_bytes(width, std::min(kGroup, count - first)));
  return group;
}

bool has_above(const std::byte* bytes, Elements count, unsigned most) {
  unsigned greatest = 0;
  for (Elements i = 0; i < count; ++i) greatest = std::max(greatest, std::to_integer<unsigned>(bytes[i]));
  return greatest > most;
}

/// Codes that a word holds and that begin and end with a byte.
constexpr Elements codes_in_word(unsigned width) { return width == 1 ? 64 : width == 2 ? 32 : 16; }

Bytes check(ConstView from, Elements count, unsigned most, unsigned depth) {
  if (from.size < 2) return 0;
  const auto width = std::to_integer<unsigned>(from.data[0]);
  if (width == kSame) return has_above(from.data + 1, 1, most) ? 0 : 2;
  if (width == kAsTheyAre) {
    return from.size < 1 + count || (most < 255 && has_above(from.data + 1, count, most)) ? 0 : 1 + count;
  }
  if (width > kMostWidth || depth == kMostNested) return 0;
  const Parts parts = parts_of(from, width, count);
  if (parts.codes == nullptr || has_above(parts.table, escape_of(width), most)) return 0;
  const Elements last = count % kGroup == 0 ? kGroup : count % kGroup;
  if (group_at(parts, width, count - last, count) >> (last * width) != 0) return 0;
  if (parts.escapes > count || count_all_ones(parts.codes, count, width) != parts.escapes) return 0;
  const Bytes size = from.size - parts.rest.size;
  if (parts.escapes == 0) return size;
  const Bytes rest = check(parts.rest, parts.escapes, most, depth + 1);
  return rest == 0 ? 0 : size + rest;
}

Bytes read(ConstView from, Elements count, std::uint8_t* bytes);

/// The bytes of every two codes, and of every four where that is no large table: 0 for an escape.
template <unsigned kWidth>
class CodeTable {
 public:
  static constexpr Elements kCodes = kWidth <= 2 ? 4 : 2;

  explicit CodeTable(const std::byte* values) {
    std::array<std::uint32_t, 1u << (2 * kWidth)> pairs;
    for (std::uint32_t i = 0; i < pairs.size(); ++i) pairs[i] = value(values, i) | value(values, i >> kWidth) << 8;
    for (std::uint32_t i = 0; i < bytes_.size(); ++i) {
      bytes_[i] = kCodes == 2 ? pairs[i] : pairs[i % pairs.size()] | pairs[i / pairs.size()] << 16;
    }
  }
  std::uint32_t of(std::uint64_t codes) const { return bytes_[codes & (bytes_.size() - 1)]; }

 private:
  static std::uint32_t value(const std::byte* values, std::uint32_t codes) {
    const std::uint32_t code = codes & escape_of(kWidth);
    return code == escape_of(kWidth) ? 0 : std::to_integer<std::uint32_t>(values[code]);
  }

  std::array<std::uint32_t, 1u << (kCodes * kWidth)> bytes_;
};

/// Reads the codes of width kWidth, which begin a sequence: first those with a value, many at once, then the others.
template <unsigned kWidth>
Bytes read_codes(ConstView from, Elements count, std::uint8_t* bytes) {
  constexpr Elements kAtOnce = codes_in_word(kWidth);
  const Parts parts = parts_of(from, kWidth, count);
  const CodeTable<kWidth> table(parts.table);
  std::array<std::uint8_t, kCodedBlock + 1> escaped;
  Bytes size = from.size - parts.rest.size;
  if (parts.escapes != 0) size += read(parts.rest, parts.escapes, escaped.data());
  const std::uint8_t* next = escaped.data();
  for (Elements i = 0; i < count; i += kAtOnce) {
    const Elements some = std::min(kAtOnce, count - i);
    std::uint64_t codes = 0;
    std::array<std::uint8_t, kAtOnce> last;
    std::uint8_t* const out = some == kAtOnce ? bytes + i : last.data();
    std::memcpy(&codes, parts.codes + i / kGroup * kWidth, code_bytes(kWidth, some));
    for (Elements k = 0; k < kAtOnce; k += table.kCodes) {
      const std::uint32_t values = table.of(codes >> (k * kWidth));
      std::memcpy(out + k, &values, table.kCodes);
    }
    if (parts.escapes != 0) {
      for (std::uint64_t left = all_ones(codes, kWidth); left != 0; left &= left - 1) {
        out[static_cast<unsigned>(std::countr_zero(left)) / kWidth] = *next++;
      }
    }
    if (some != kAtOnce) std::memcpy(bytes + i, last.data(), some);
  }
  return size;
}

Bytes read(ConstView from, Elements count, std::uint8_t* bytes) {
  switch (std::to_integer<unsigned>(from.data[0])) {
    case kSame: std::memset(bytes, std::to_integer<int>(from.data[1]), count); return 2;
    case 1: return read_codes<1>(from, count, bytes);
    case 2: return read_codes<2>(from, count, bytes);
    case 3: return read_codes<3>(from, count, bytes);
    case 4: return read_codes<4>(from, count, bytes);
    default: break;
  }
  std::memcpy(bytes, from.data + 1, count);
  return 1 + count;
}

}  // namespace

Bytes write_frequent(const std::uint8_t* bytes, Elements count, std::byte* out) {
  constexpr Elements kPiece = 128, kPieces = 4, kSample = kPiece * kPieces;
  const bool same = std::memcmp(bytes, bytes + 1, count - 1) == 0;
  if (same) {
    out[0] = std::byte{kSame};
    out[1] = std::byte{bytes[0]};
    return 2;
  }
  if (count > kSample) {
    // Noise is most of what there is: a look at some of it is enough.
    std::array<std::uint8_t, kSample> sample;
    for (Elements i = 0; i < kPieces; ++i) std::memcpy(&sample[i * kPiece], bytes + i * (count / kPieces), kPiece);
    if (best_form(Frequent(sample.data(), kSample), 0, kSample, 0).widths[0] == kAsTheyAre) {
      out[0] = std::byte{kAsTheyAre};
      std::memcpy(out + 1, bytes, count);
      return 1 + count;
    }
  }
  const Frequent frequent(bytes, count);
  return Writer(frequent, best_form(frequent, 0, count, 0), out).run(bytes, count);
}

Bytes check_frequent(ConstView from, Elements count, unsigned most) { return check(from, count, most, 0); }

Bytes read_frequent(ConstView from, Elements count, std::uint8_t* bytes) { return read(from, count, bytes); }

}  // namespace casync::compll
