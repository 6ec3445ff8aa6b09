// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/codecs/sparse.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/units.h"
#include "compll/interpreter/interpreter.h"

namespace casync::compll {
namespace {

constexpr Bytes kHeader = 16, kAlignment = 16;

}  // namespace

SectionPlace section_of(const Written& written, const std::string& name, Elements n) {
  const std::span<const double> values = written.codec->info().values;
  const Interpreter meaning(*written.program, values.first(written.program->parameters.size()));
  Bytes end = kHeader;
  for (const Section& section : written.program->sections) {
    const Bytes begin = (end + kAlignment - 1) / kAlignment * kAlignment;
    const SectionPlace place{section.type.element.bits, meaning.count(section.type, n), begin};
    if (section.name == name) return place;
    end = place.end();
  }
  CASYNC_CHECK(false);
  return {};
}

std::vector<std::uint32_t> integers_in(const Written& written, const Coded& coded, const std::string& name,
                                       Elements n) {
  std::vector<std::uint32_t> values;
  for (const Scalar value : read_section(section_of(written, name, n), kUintType, coded.view())) {
    values.push_back(value.as_uint());
  }
  return values;
}

std::vector<float> floats_in(const Written& written, const Coded& coded, const std::string& name, Elements n) {
  std::vector<float> values;
  for (const std::uint32_t bits : integers_in(written, coded, name, n)) values.push_back(std::bit_cast<float>(bits));
  return values;
}

Elements share_of(double ratio, Elements n) {
  const auto wanted = static_cast<Elements>(std::ceil(ratio * static_cast<double>(n)));
  return std::min(n, std::max<Elements>(1, wanted));
}

std::vector<std::uint32_t> places_of_largest(std::span<const float> keys, Elements count) {
  std::vector<std::uint32_t> places(keys.size());
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(), [&](std::uint32_t a, std::uint32_t b) { return keys[a] > keys[b]; });
  places.resize(std::min(count, keys.size()));
  std::erase_if(places, [&](std::uint32_t place) { return !(keys[place] > 0); });
  std::sort(places.begin(), places.end());
  places.resize(count, kNoPlace);
  return places;
}

std::vector<float> magnitudes(std::span<const float> x) {
  std::vector<float> sizes(x.begin(), x.end());
  for (float& value : sizes) value = std::fabs(value);
  return sizes;
}

std::vector<float> only_at(std::span<const std::uint32_t> places, std::span<const float> x) {
  std::vector<float> sparse(x.size(), 0.0f);
  for (const std::uint32_t place : places) {
    if (place != kNoPlace) sparse[place] = x[place];
  }
  return sparse;
}

std::size_t count_of(std::span<const std::uint32_t> places) {
  return static_cast<std::size_t>(
      std::count_if(places.begin(), places.end(), [](std::uint32_t place) { return place != kNoPlace; }));
}

}  // namespace casync::compll
