// SPDX-License-Identifier: Apache-2.0
//
// Payloads of codecs that pick elements: their contents, and the elements that have to be picked.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compll/interpreter/bit_sections.h"
#include "tests/compll/support/programs.h"

namespace casync::compll {

/// The place that stands for none.
inline constexpr std::uint32_t kNoPlace = 0xffffffff;

/// Returns the place of the section that the program calls `name` in a payload of n elements. The program has it.
SectionPlace section_of(const Written& written, const std::string& name, Elements n);

/// The elements of that section.
std::vector<std::uint32_t> integers_in(const Written& written, const Coded& coded, const std::string& name, Elements n);
std::vector<float> floats_in(const Written& written, const Coded& coded, const std::string& name, Elements n);

/// A share of n elements, rounded up and at least one: what the codecs' `ratio` means.
Elements share_of(double ratio, Elements n);

/// The places of the `count` largest keys above zero in ascending order, of equal ones the first; then kNoPlace.
std::vector<std::uint32_t> places_of_largest(std::span<const float> keys, Elements count);

std::vector<float> magnitudes(std::span<const float> x);

/// x at these places, zero elsewhere.
std::vector<float> only_at(std::span<const std::uint32_t> places, std::span<const float> x);

/// Number of entries that are not kNoPlace.
std::size_t count_of(std::span<const std::uint32_t> places);

}  // namespace casync::compll
