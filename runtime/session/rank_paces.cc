// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/rank_paces.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "runtime/control/wire/wire.h"

namespace casync::runtime {
namespace {

bool is_time(double seconds) { return std::isfinite(seconds) && seconds >= 0; }

}  // namespace

std::string encode_pace(const Pace& pace) {
  WireWriter writer;
  writer.u64(std::bit_cast<std::uint64_t>(pace.median_s)).u64(std::bit_cast<std::uint64_t>(pace.scatter_s));
  return writer.u32(static_cast<std::uint32_t>(pace.steps)).take();
}

std::optional<Pace> decode_pace(std::string_view bytes) {
  WireReader reader(bytes);
  Pace pace;
  pace.median_s = std::bit_cast<double>(reader.u64());
  pace.scatter_s = std::bit_cast<double>(reader.u64());
  pace.steps = static_cast<int>(reader.u32());
  if (!reader.done() || !is_time(pace.median_s) || !is_time(pace.scatter_s) || pace.steps < 1) return std::nullopt;
  return pace;
}

void RankPaces::set_own(std::optional<Pace> pace) {
  const std::lock_guard lock(mutex_);
  own_ = pace;
}

std::string RankPaces::words() const {
  const std::lock_guard lock(mutex_);
  return own_ ? encode_pace(*own_) : "";
}

void RankPaces::left(Rank rank, std::string_view words) {
  const std::lock_guard lock(mutex_);
  others_[rank] = decode_pace(words);
}

std::map<Rank, std::optional<Pace>> RankPaces::others() const {
  const std::lock_guard lock(mutex_);
  return others_;
}

}  // namespace casync::runtime
