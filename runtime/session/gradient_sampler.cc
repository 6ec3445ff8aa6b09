// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/gradient_sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "casync/patterns/sampled.h"
#include "compll/ops/cpu/convert.h"

namespace casync::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMetadata = "__metadata__";
constexpr std::size_t kHeaderAlignment = 8;

static_assert(std::endian::native == std::endian::little, "floats are written as they lie in memory");

bool says_something(const std::vector<float>& values) {
  const bool finite = std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
  return finite && std::any_of(values.begin(), values.end(), [](float value) { return value != 0; });
}

/// An integer as the format has it: eight bytes, the least first.
std::string eight_bytes(std::uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  return bytes;
}

void write_floats(std::ofstream& file, const std::vector<float>& values) {
  file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
}

}  // namespace

bool GradientSampler::is_due(std::size_t gradient) {
  if (kept_.size() <= gradient) kept_.resize(gradient + 1);
  new_.reserve(kSampledPieces * kSampledPiece);
  return std::has_single_bit(++kept_[gradient].submissions);
}

void GradientSampler::submitted(std::size_t gradient, const GradientSpec& spec, ConstView data, std::uint32_t step) {
  if (!is_due(gradient)) return;
  const Elements elements = spec.elements();
  new_.resize(sampled_elements(elements));
  for_each_sampled(elements, [&](Elements first, Elements count, Elements at) {
    compll::to_float32(spec.dtype, data.data + first * bytes_of(spec.dtype), count, new_.data() + at);
  });
  keep_new(gradient, step);
}

void GradientSampler::take(std::size_t gradient, const GradientSpec& spec, ConstView sample, std::uint32_t step) {
  new_.resize(sampled_elements(spec.elements()));
  compll::to_float32(spec.dtype, sample.data, new_.size(), new_.data());
  keep_new(gradient, step);
}

void GradientSampler::keep_new(std::size_t gradient, std::uint32_t step) {
  if (!says_something(new_)) return;
  Kept& own = kept_[gradient];
  own.values = new_;
  own.step = step;
}

void GradientSampler::forget(std::size_t gradient) {
  if (gradient < kept_.size()) kept_[gradient].values.clear();
}

bool GradientSampler::empty() const {
  return std::all_of(kept_.begin(), kept_.end(), [](const Kept& own) { return own.values.empty(); });
}

std::span<const float> GradientSampler::sample(std::size_t gradient) const {
  return gradient < kept_.size() ? std::span<const float>(kept_[gradient].values) : std::span<const float>();
}

Status GradientSampler::write(const std::string& path, std::span<const GradientSpec> gradients) const {
  Json header{{kMetadata, Json::object()}};
  std::vector<const std::vector<float>*> written;
  Bytes end = 0;
  for (std::size_t i = 0; i < std::min(gradients.size(), kept_.size()); ++i) {
    const std::vector<float>& values = kept_[i].values;
    const std::string& name = gradients[i].name;
    if (values.empty() || name == kMetadata) continue;
    const Bytes begin = std::exchange(end, end + values.size() * sizeof(float));
    header[kMetadata][name] = "step " + std::to_string(kept_[i].step) + ", " + std::to_string(values.size()) + " of " +
                              std::to_string(gradients[i].elements()) + " elements";
    header[name] = {{"dtype", "F32"}, {"shape", {values.size()}}, {"data_offsets", {begin, end}}};
    written.push_back(&values);
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.resize(round_up(text.size(), kHeaderAlignment), ' ');
  std::ofstream file(path, std::ios::binary);
  file << eight_bytes(text.size()) << text;
  for (const std::vector<float>* values : written) write_floats(file, *values);
  file.close();
  return file ? Status::ok() : unavailable(path + ": cannot be written: no such folder, or no right");
}

}  // namespace casync::runtime
