// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/statistics.h"

#include <bit>
#include <cmath>
#include <string>

#include "compll/codec/payload.h"
#include "compll/ops/scaled.h"

namespace casync::compll {
namespace {

float entry(const std::byte* section, Elements block) { return load_float(section + block * sizeof(float)); }

/// The least scale that is not zero, as level_scale() of compll/lang/check/prelude.cll has it: the reciprocal of a
/// smaller one would leave the range of float32.
constexpr float kLeastScale = 0x1p-120f;

bool is_scale(float scale) {
  return std::bit_cast<std::uint32_t>(scale) == 0 ||
         (scale >= kLeastScale && std::bit_cast<std::uint32_t>(scale) < kFloat32Infinity);
}

Status check_scales(const std::byte* const* sections, Elements blocks, bool finite) {
  bool all_numbers = true;
  for (Elements b = 0; b < blocks; ++b) {
    const float scale = entry(sections[0], b);
    const bool is_nan = scale != scale;
    all_numbers &= !is_nan;
    const bool valid = is_nan ? !finite : is_scale(scale);
    if (!valid) return data_loss("payload: the scale of block " + std::to_string(b) + " is " + std::to_string(scale));
  }
  if (all_numbers == finite) return Status::ok();
  return data_loss("payload: it is marked as not finite, but all its scales are");
}

bool is_mean(float magnitude) { return magnitude >= 0 && std::isfinite(magnitude); }

Status check_means(const std::byte* const* sections, Elements blocks, bool finite) {
  bool all_numbers = true;
  for (Elements b = 0; b < blocks; ++b) {
    const float above = entry(sections[0], b), below = entry(sections[1], b);
    const bool is_nan = above != above && below != below;
    all_numbers &= !is_nan;
    const bool valid = is_nan ? !finite : is_mean(above) && is_mean(-below);
    if (valid) continue;
    return data_loss("payload: the means of block " + std::to_string(b) + " are " + std::to_string(above) + " and " +
                     std::to_string(below));
  }
  if (all_numbers == finite) return Status::ok();
  return data_loss("payload: it is marked as not finite, but all its means are");
}

}  // namespace

StatisticsCheck statistics_check_of(std::string_view codec) {
  if (codec == "int8" || codec == "int4") return check_scales;
  return codec == "onebit" ? check_means : nullptr;
}

}  // namespace casync::compll
