// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/coded/coded_codec.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "compll/codec/coded/coded_section.h"
#include "compll/codec/tile_memory.h"

namespace casync::compll {
namespace {

constexpr Bytes kImageAlignment = 64;

/// Elements like those of a Gaussian, the same on every machine: sums of twelve uniform numbers.
std::vector<float> typical_elements(Elements count) {
  std::vector<float> elements(count);
  std::uint64_t state = 1;
  for (float& element : elements) {
    int sum = -12 * 32768;
    for (int i = 0; i < 12; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      sum += static_cast<int>(state >> 48);
    }
    element = static_cast<float>(sum) * 1.52587e-5f;  // about 2^-16, and all bits of a mantissa occur
  }
  return elements;
}

/// The sections of payloads, coded and in plain payloads, which are images of them.
class CodedSections {
 public:
  /// Borrows `image`.
  CodedSections(const SectionedPayload& image, std::vector<Coding> codings)
      : image_(image), codings_(std::move(codings)) {}

  SectionPlaces places(Elements n) const { return image_.places(n); }
  PayloadLayout layout(Elements n) const { return image_.layout(n); }
  std::span<const Coding> codings() const { return codings_; }

  /// The most bytes of a payload.
  Bytes bound(Elements n) const {
    const SectionPlaces at = image_.places(n);
    Bytes end = kHeaderBytes;
    for (std::size_t i = 0; i < at.all().size(); ++i) {
      const Bytes most = is_coded(i) ? coded_section_bound(elements(at[i], i)) : at[i].bytes();
      end = round_up(end, kSectionAlignment) + most;
    }
    return end;
  }

  /// The part of Codec::check() behind the header.
  Status check(ConstView payload, Elements n) const {
    const auto fault = [](const std::string& what) { return data_loss("payload: " + what); };
    const SectionPlaces at = image_.places(n);
    Bytes end = kHeaderBytes;
    for (std::size_t i = 0; i < at.all().size(); ++i) {
      const std::string name = "section " + std::to_string(i);
      const Bytes begin = round_up(end, kSectionAlignment);
      if (begin > payload.size) return fault("it ends before " + name);
      const bool zeros =
          std::all_of(payload.data + end, payload.data + begin, [](std::byte b) { return b == std::byte{0}; });
      if (!zeros) return fault("the bytes before " + name + " are not zero");
      const ConstView rest = payload.slice(begin, payload.size - begin);
      if (!is_coded(i)) {
        if (rest.size < at[i].bytes()) return fault(name + " is cut off");
        const SectionPlace place{at[i].bits, at[i].count, begin};
        CASYNC_RETURN_IF_ERROR(check_section(place, i, payload.data));
        end = begin + at[i].bytes();
        continue;
      }
      const Result<Bytes> size = check_coded_section(elements(at[i], i), rest);
      if (!size) return fault(name + ": " + size.status().message());
      end = begin + *size;
    }
    if (end == payload.size) return Status::ok();
    return fault(std::to_string(payload.size - end) + " bytes behind its last section");
  }

  StoredEntries all_entries(Elements n) const {
    const SectionPlaces at = image_.places(n);
    StoredEntries all{};
    for (std::size_t i = 0; i < at.all().size(); ++i) all[i] = at[i].count;
    return all;
  }

  /// Codes a plain payload of n elements, and returns the size: at most encoded_bound(n). Stores more of the entries
  /// that `image` does not have.
  Bytes write(std::byte* image, Elements n, const StoredEntries& stored, std::byte* payload) const {
    const SectionPlaces at = image_.places(n);
    std::memcpy(payload, image, kHeaderBytes);
    Bytes end = kHeaderBytes;
    for (std::size_t i = 0; i < at.all().size(); ++i) {
      const Bytes begin = round_up(end, kSectionAlignment);
      std::memset(payload + end, 0, begin - end);
      const std::byte* const from = image + at[i].begin;
      const Elements needed = is_coded(i) ? entries_of_coding(at[i].count, stored[i]) : at[i].count;
      if (stored[i] < needed) repeat_last_entry(at[i], stored[i], needed, image);
      if (is_coded(i)) {
        end = begin + write_coded_section(elements(at[i], i), from, stored[i], payload + begin);
      } else {
        std::memcpy(payload + begin, from, at[i].bytes());
        end = begin + at[i].bytes();
      }
    }
    return end;
  }

  /// Reads a payload that has been checked into a plain one. `stored` not null: it may leave out entries at the ends of
  /// sections that equal the last one stored, and says how many it has stored.
  void read(ConstView payload, Elements n, std::byte* image, StoredEntries* stored) const {
    const SectionPlaces at = image_.places(n);
    std::memcpy(image, payload.data, kHeaderBytes);
    at.write_gaps(image);
    Bytes end = kHeaderBytes;
    for (std::size_t i = 0; i < at.all().size(); ++i) {
      const std::byte* const from = payload.data + round_up(end, kSectionAlignment);
      std::byte* const to = image + at[i].begin;
      end = round_up(end, kSectionAlignment);
      if (stored != nullptr) (*stored)[i] = at[i].count;
      if (is_coded(i)) {
        const CodedElements section = elements(at[i], i);
        const Elements different = stored == nullptr ? at[i].count : different_in_section(section, from);
        read_coded_section(section, from, different, to);
        if (stored != nullptr) (*stored)[i] = different;
        end += coded_section_size(section, from);
      } else {
        std::memcpy(to, from, at[i].bytes());
        end += at[i].bytes();
      }
    }
    CASYNC_CHECK(end == payload.size);
  }

  /// The bits of a Gaussian's sections, for each of its elements.
  double typical_bits(const Codec& plain) const {
    constexpr Elements kTypical = Elements{1} << 14;
    static const std::vector<float> in = typical_elements(kTypical);  // takes longer than all else about a codec
    std::vector<std::byte> image(plain.encoded_bound(kTypical)), section;
    plain.encode(in.data(), kTypical, {}, {}, image.data());
    const SectionPlaces at = image_.places(kTypical);
    double bytes = 0;
    for (std::size_t i = 0; i < at.all().size(); ++i) {
      section.resize(coded_section_bound(elements(at[i], i)));
      bytes += static_cast<double>(
          is_coded(i) ? write_coded_section(elements(at[i], i), image.data() + at[i].begin, at[i].count, section.data())
                      : at[i].bytes());
    }
    return 8 * bytes / kTypical;
  }

 private:
  bool is_coded(std::size_t section) const { return codings_[section] != Coding::kPlain; }
  CodedElements elements(const SectionPlace& place, std::size_t section) const {
    return {codings_[section], place.bits, place.count};
  }

  const SectionedPayload& image_;
  const std::vector<Coding> codings_;
};

class Coded final : public Codec, public PayloadCoding {
 public:
  Coded(std::unique_ptr<Codec> plain, const SectionedPayload& image, std::vector<Coding> codings)
      : plain_(std::move(plain)),
        heads_(dynamic_cast<const HeadsCodec*>(plain_.get())),
        sections_(image, std::move(codings)),
        info_(plain_->info()) {
    info_.bits_per_element = sections_.typical_bits(*plain_);
  }

  const CodecInfo& info() const override { return info_; }
  void prepare_thread() const override { plain_->prepare_thread(); }

  Bytes encoded_bound(Elements n) const override { return sections_.bound(n); }

  Encoded encode(const float* in, Elements n, Residual residual, const EncodeContext& context,
                 std::byte* payload) const override {
    return encode_image(in, std::nullopt, n, residual, context, payload);
  }
  Encoded encode_sum(const float* sum, float scale, Elements n, Residual residual, const EncodeContext& context,
                     std::byte* payload) const override {
    return encode_image(sum, scale, n, residual, context, payload);
  }
  void result(const float* decoded, Elements n, Residual state, const EncodeContext& context,
              float* out) const override {
    plain_->result(decoded, n, state, context, out);
  }

  Status check(ConstView payload, Elements n) const override {
    CASYNC_RETURN_IF_ERROR(check_head(payload, n));
    return sections_.check(payload, n);
  }

  void decode(ConstView payload, Elements n, float* out) const override { decode_into(payload, n, out, false); }
  void decode_add(ConstView payload, Elements n, float* out) const override { decode_into(payload, n, out, true); }

  Encoded merge(std::span<const Contribution> contributions, Elements n, float scale, const Codec& second,
                Residual residual, const EncodeContext& context, std::byte* payload) const override {
    const auto* const also_coded = dynamic_cast<const Coded*>(&second);
    const Bytes image_bytes = round_up(plain_->encoded_bound(n), kImageAlignment);
    const Bytes merged_bytes = also_coded == nullptr ? 0 : also_coded->plain_->encoded_bound(n);
    std::byte* const memory = image_memory(contributions.size() * image_bytes + merged_bytes);
    std::byte* const merged = memory + contributions.size() * image_bytes;
    const Codec& plain_second = also_coded == nullptr ? second : *also_coded->plain_;
    std::byte* const out = also_coded == nullptr ? payload : merged;
    thread_local std::vector<Contribution> terms;
    thread_local std::vector<Elements> listed;
    terms.assign(contributions.begin(), contributions.end());
    listed.assign(terms.size(), kAllListed);
    const auto is_code = [&](std::size_t i) {  // the raw elements of n = 0 may be null
      return contributions[i].raw == nullptr && contributions[i].code.size != 0;
    };
    for (std::size_t i = 0; i < terms.size(); ++i) {
      if (!is_code(i)) continue;
      std::byte* const image = memory + i * image_bytes;
      listed[i] = read_needed(terms[i].code, n, image);
      terms[i].code = {image, plain_->encoded_bound(n)};
    }
    StoredEntries stored = also_coded == nullptr ? StoredEntries{} : also_coded->sections_.all_entries(n);
    std::optional<Encoded> made;
    if (heads_ != nullptr) {
      made = heads_->merge_heads(terms, listed, n, scale, plain_second, residual, context, out,
                                 also_coded == nullptr ? nullptr : &stored);
    }
    if (!made) {
      for (std::size_t i = 0; i < terms.size(); ++i) {
        if (is_code(i) && listed[i] != kAllListed)
          sections_.read(contributions[i].code, n, memory + i * image_bytes, nullptr);
      }
      made = plain_->merge(terms, n, scale, plain_second, residual, context, out);
    }
    return also_coded == nullptr ? *made : also_coded->coded(*made, merged, n, stored, payload);
  }

  const Codec& plain() const override { return *plain_; }
  SectionPlaces places(Elements n) const override { return sections_.places(n); }
  std::span<const Coding> codings() const override { return sections_.codings(); }

  Status check_head(ConstView payload, Elements n) const override {
    const Bytes bound = encoded_bound(n);
    if (payload.size < kHeaderBytes || payload.size > bound) {
      return data_loss("payload: its size in bytes is " + std::to_string(payload.size) + ", expected " +
                       std::to_string(kHeaderBytes) + " to " + std::to_string(bound));
    }
    PayloadLayout layout = sections_.layout(n);
    layout.size = payload.size;
    return check_header(layout, payload).status();
  }

 private:
  Encoded encode_image(const float* in, std::optional<float> scale, Elements n, Residual residual,
                       const EncodeContext& context, std::byte* payload) const {
    std::byte* const image = image_of(n);
    StoredEntries stored = sections_.all_entries(n);
    const Encoded made = heads_ != nullptr ? heads_->encode_heads(in, scale, n, residual, context, image, stored)
                         : scale           ? plain_->encode_sum(in, *scale, n, residual, context, image)
                                           : plain_->encode(in, n, residual, context, image);
    return coded(made, image, n, stored, payload);
  }

  /// Reads the part of a payload that decoding needs, and returns the number of entries of its list; kAllListed: all.
  Elements read_needed(ConstView payload, Elements n, std::byte* image) const {
    if (heads_ == nullptr) {
      sections_.read(payload, n, image, nullptr);
      return kAllListed;
    }
    StoredEntries stored;
    sections_.read(payload, n, image, &stored);
    return heads_->complete(image, n, stored);
  }

  void decode_into(ConstView payload, Elements n, float* out, bool adds) const {
    std::byte* const image = image_of(n);
    const ConstView plain(image, plain_->encoded_bound(n));
    const Elements listed = read_needed(payload, n, image);
    if (heads_ != nullptr) return heads_->decode_heads(plain, n, listed, out, adds);
    adds ? plain_->decode_add(plain, n, out) : plain_->decode(plain, n, out);
  }

  std::byte* image_of(Elements n) const { return image_memory(plain_->encoded_bound(n)); }

  Encoded coded(Encoded made, std::byte* image, Elements n, const StoredEntries& stored, std::byte* payload) const {
    made.size = sections_.write(image, n, stored, payload);
    return made;
  }

  const std::unique_ptr<Codec> plain_;
  const HeadsCodec* const heads_;  ///< plain_, or null
  const CodedSections sections_;
  CodecInfo info_;
};

}  // namespace

const PayloadCoding* coding_of(const Codec& codec) { return dynamic_cast<const PayloadCoding*>(&codec); }

std::unique_ptr<Codec> make_coded_codec(std::unique_ptr<Codec> plain, const SectionedPayload& image,
                                        std::vector<Coding> codings) {
  return std::make_unique<Coded>(std::move(plain), image, std::move(codings));
}

}  // namespace casync::compll
