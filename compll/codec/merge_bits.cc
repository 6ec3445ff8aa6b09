// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/merge_bits.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "compll/ops/cpu/bit_function.h"

namespace casync::compll {
namespace {

/// Elements of a sample: one for each combination of bits.
constexpr Elements kSample = 64;
// Measured: from here on two samples take less time than the elements.
constexpr Elements kLeastMerged = 4096;

/// A payload of a sample. Its tensor values are those of another payload.
class Sample {
 public:
  explicit Sample(const TileCodec& codec) : places_(*codec.bit_places(kSample)) {
    CASYNC_CHECK(places_.sections.size() <= bytes_.size());
  }

  std::byte* bytes() { return bytes_.data(); }
  ConstView view() const { return {bytes_.data(), places_.sections.size()}; }

  std::uint64_t codes() const {
    std::uint64_t codes;
    std::memcpy(&codes, bytes_.data() + places_.codes().begin, sizeof codes);
    return codes;
  }
  void set_codes(std::uint64_t codes) { std::memcpy(bytes_.data() + places_.codes().begin, &codes, sizeof codes); }

  void take_scalars(const BitPlaces& places, const std::byte* payload) {
    each_scalar(places,
                [&](Bytes here, Bytes there, Bytes size) { std::memcpy(bytes_.data() + here, payload + there, size); });
  }
  void give_scalars(const BitPlaces& places, std::byte* payload) const {
    each_scalar(places,
                [&](Bytes here, Bytes there, Bytes size) { std::memcpy(payload + there, bytes_.data() + here, size); });
  }

 private:
  template <class Body>
  void each_scalar(const BitPlaces& places, const Body& body) const {
    for (std::size_t i = 0; i < places.sections.all().size(); ++i) {
      const SectionPlace& place = places_.sections[i];
      if (i != places.codes_section) body(place.begin, places.sections[i].begin, place.bytes());
    }
  }

  BitPlaces places_;
  std::array<std::byte, kHeaderBytes + kMostSections * kSectionAlignment> bytes_;  // no section is longer than 64 bits
};

bool is_all_codes(std::span<const Contribution> contributions) {
  return std::all_of(contributions.begin(), contributions.end(),
                     [](const Contribution& c) { return c.raw == nullptr; });
}

/// The sum that is to be scaled, for each combination of the contributions' bits.
std::array<float, kSample> sums_of(const TileCodec& codec, const BitPlaces& places,
                                   std::span<const Contribution> contributions) {
  std::array<std::optional<Sample>, kMostBitArguments> samples;
  std::array<ConstView, kMostBitArguments> views;
  for (std::size_t i = 0; i < contributions.size(); ++i) {
    Sample& sample = samples[i].emplace(codec);
    sample.take_scalars(places, contributions[i].code.data);
    sample.set_codes(kBitCombinations[i]);
    views[i] = sample.view();
  }
  std::array<float, kSample> sums;
  codec.decode_tile(codec.form(kSample), {kSample, 0, kSample}, {views.data(), contributions.size()}, sums.data(),
                    Write::kPlain);
  return sums;
}

}  // namespace

std::optional<Encoded> merge_bits(const TileCodec& first, std::span<const Contribution> contributions, Elements n,
                                  float scale, const TileCodec& second, Residual residual, const EncodeContext& context,
                                  std::byte* payload) {
  const bool keeps = residual.in != nullptr || residual.out != nullptr;
  if (n < kLeastMerged || keeps || contributions.size() > kMostBitArguments || !is_all_codes(contributions)) return {};
  const std::optional<BitPlaces> from = first.bit_places(n), to = second.bit_places(n);
  if (!from || !to) return {};
  std::array<float, kSample> sums = sums_of(first, *from, contributions);

  Sample merged(second);
  bool finite = second.encode_sum(sums.data(), scale, kSample, {}, context, merged.bytes()).finite;
  std::array<const std::byte*, kMostBitArguments> codes;
  for (std::size_t i = 0; i < contributions.size(); ++i) codes[i] = contributions[i].code.data + from->codes().begin;
  const std::uint64_t seen =
      apply_bit_function(merged.codes(), {codes.data(), contributions.size()}, n, payload + to->codes().begin);

  // The tensor's values depend on which combinations occur, not on how often: others are replaced by one that occurs.
  const Elements combinations = Elements{1} << contributions.size();
  if (static_cast<Elements>(std::popcount(seen)) != combinations) {
    for (Elements c = 0; c < kSample; ++c) {
      if ((seen >> c % combinations & 1) == 0) sums[c] = sums[static_cast<std::size_t>(std::countr_zero(seen))];
    }
    finite = second.encode_sum(sums.data(), scale, kSample, {}, context, merged.bytes()).finite;
  }
  merged.give_scalars(*to, payload);
  const PayloadForm form = second.form(n);
  second.finish(form, finite, payload);
  return Encoded{form.layout.size, finite};
}

}  // namespace casync::compll
