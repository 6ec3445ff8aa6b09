// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/coded/coded_codec.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
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

class Coded final : public Codec, public PayloadCoding {
 public:
  Coded(std::unique_ptr<Codec> plain, const SectionedPayload& image, std::vector<Coding> codings)
      : plain_(std::move(plain)), image_(image), codings_(std::move(codings)), info_(plain_->info()) {
    info_.bits_per_element = typical_bits();
  }

  const CodecInfo& info() const override { return info_; }
  void prepare_thread() const override { plain_->prepare_thread(); }

  Bytes encoded_bound(Elements n) const override {
    const SectionPlaces at = image_.places(n);
    Bytes end = kHeaderBytes;
    for (std::size_t i = 0; i < at.all().size(); ++i) {
      const Bytes most = is_coded(i) ? coded_section_bound(elements(at[i], i)) : at[i].bytes();
      end = round_up(end, kSectionAlignment) + most;
    }
    return end;
  }

  Encoded encode(const float* in, Elements n, Residual residual, const EncodeContext& context,
                 std::byte* payload) const override {
    std::byte* const image = image_of(n);
    return coded(plain_->encode(in, n, residual, context, image), image, n, payload);
  }
  Encoded encode_sum(const float* sum, float scale, Elements n, Residual residual, const EncodeContext& context,
                     std::byte* payload) const override {
    std::byte* const image = image_of(n);
    return coded(plain_->encode_sum(sum, scale, n, residual, context, image), image, n, payload);
  }
  void result(const float* decoded, Elements n, Residual state, const EncodeContext& context,
              float* out) const override {
    plain_->result(decoded, n, state, context, out);
  }

  Status check(ConstView payload, Elements n) const override {
    const auto fault = [](const std::string& what) { return data_loss("payload: " + what); };
    CASYNC_RETURN_IF_ERROR(check_head(payload, n));
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

  void decode(ConstView payload, Elements n, float* out) const override {
    plain_->decode(plain_of(payload, n, image_of(n)), n, out);
  }
  void decode_add(ConstView payload, Elements n, float* out) const override {
    plain_->decode_add(plain_of(payload, n, image_of(n)), n, out);
  }

  Encoded merge(std::span<const Contribution> contributions, Elements n, float scale, const Codec& second,
                Residual residual, const EncodeContext& context, std::byte* payload) const override {
    const auto* const also_coded = dynamic_cast<const Coded*>(&second);
    const Bytes image_bytes = round_up(plain_->encoded_bound(n), kImageAlignment);
    const Bytes merged_bytes = also_coded == nullptr ? 0 : also_coded->plain_->encoded_bound(n);
    std::byte* const memory = image_memory(contributions.size() * image_bytes + merged_bytes);
    thread_local std::vector<Contribution> terms;
    terms.assign(contributions.begin(), contributions.end());
    std::byte* next = memory;
    for (Contribution& term : terms) {
      const bool is_code = term.raw == nullptr && term.code.size != 0;  // the raw elements of n = 0 may be null
      if (is_code) term.code = plain_of(term.code, n, next);
      next += image_bytes;
    }
    if (also_coded == nullptr) return plain_->merge(terms, n, scale, second, residual, context, payload);
    return also_coded->coded(plain_->merge(terms, n, scale, *also_coded->plain_, residual, context, next), next, n,
                             payload);
  }

  const Codec& plain() const override { return *plain_; }
  SectionPlaces places(Elements n) const override { return image_.places(n); }
  std::span<const Coding> codings() const override { return codings_; }

  Status check_head(ConstView payload, Elements n) const override {
    const Bytes bound = encoded_bound(n);
    if (payload.size < kHeaderBytes || payload.size > bound) {
      return data_loss("payload: its size in bytes is " + std::to_string(payload.size) + ", expected " +
                       std::to_string(kHeaderBytes) + " to " + std::to_string(bound));
    }
    PayloadLayout layout = image_.layout(n);
    layout.size = payload.size;
    return check_header(layout, payload).status();
  }

 private:
  /// Codes a plain payload of n elements, and returns the size: at most encoded_bound(n).
  Bytes write(const std::byte* image, Elements n, std::byte* payload) const {
    const SectionPlaces at = image_.places(n);
    std::memcpy(payload, image, kHeaderBytes);
    Bytes end = kHeaderBytes;
    for (std::size_t i = 0; i < at.all().size(); ++i) {
      const Bytes begin = round_up(end, kSectionAlignment);
      std::memset(payload + end, 0, begin - end);
      const std::byte* const from = image + at[i].begin;
      if (is_coded(i)) {
        end = begin + write_coded_section(elements(at[i], i), from, payload + begin);
      } else {
        std::memcpy(payload + begin, from, at[i].bytes());
        end = begin + at[i].bytes();
      }
    }
    return end;
  }

  /// Reads a payload that has been checked into a plain one.
  void read(ConstView payload, Elements n, std::byte* image) const {
    const SectionPlaces at = image_.places(n);
    std::memcpy(image, payload.data, kHeaderBytes);
    at.write_gaps(image);
    Bytes end = kHeaderBytes;
    for (std::size_t i = 0; i < at.all().size(); ++i) {
      const std::byte* const from = payload.data + round_up(end, kSectionAlignment);
      std::byte* const to = image + at[i].begin;
      end = round_up(end, kSectionAlignment);
      if (is_coded(i)) {
        read_coded_section(elements(at[i], i), from, to);
        end += coded_section_size(elements(at[i], i), from);
      } else {
        std::memcpy(to, from, at[i].bytes());
        end += at[i].bytes();
      }
    }
    CASYNC_CHECK(end == payload.size);
  }

  bool is_coded(std::size_t section) const { return codings_[section] != Coding::kPlain; }
  CodedElements elements(const SectionPlace& place, std::size_t section) const {
    return {codings_[section], place.bits, place.count};
  }

  std::byte* image_of(Elements n) const { return image_memory(plain_->encoded_bound(n)); }

  Encoded coded(Encoded made, const std::byte* image, Elements n, std::byte* payload) const {
    made.size = write(image, n, payload);
    return made;
  }
  ConstView plain_of(ConstView payload, Elements n, std::byte* image) const {
    read(payload, n, image);
    return {image, plain_->encoded_bound(n)};
  }

  /// The bits of a Gaussian's sections, for each of its elements.
  double typical_bits() const {
    constexpr Elements kTypical = Elements{1} << 14;
    const std::vector<float> in = typical_elements(kTypical);
    std::vector<std::byte> image(plain_->encoded_bound(kTypical)), section;
    plain_->encode(in.data(), kTypical, {}, {}, image.data());
    const SectionPlaces at = image_.places(kTypical);
    double bytes = 0;
    for (std::size_t i = 0; i < at.all().size(); ++i) {
      section.resize(coded_section_bound(elements(at[i], i)));
      bytes += static_cast<double>(
          is_coded(i) ? write_coded_section(elements(at[i], i), image.data() + at[i].begin, section.data())
                      : at[i].bytes());
    }
    return 8 * bytes / kTypical;
  }

  const std::unique_ptr<Codec> plain_;
  const SectionedPayload& image_;
  const std::vector<Coding> codings_;
  CodecInfo info_;
};

}  // namespace

const PayloadCoding* coding_of(const Codec& codec) { return dynamic_cast<const PayloadCoding*>(&codec); }

std::unique_ptr<Codec> make_coded_codec(std::unique_ptr<Codec> plain, const SectionedPayload& image,
                                        std::vector<Coding> codings) {
  return std::make_unique<Coded>(std::move(plain), image, std::move(codings));
}

}  // namespace casync::compll
