// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/wire/strangers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "base/log.h"

namespace casync::runtime {
namespace {

constexpr std::size_t kMostSources = 64;
constexpr std::size_t kShownSources = 3;

}  // namespace

void Strangers::refused(const std::string& source, const std::string& why, Clock::time_point now) {
  const bool room = sources_.size() < kMostSources || sources_.count(source) != 0;
  const std::string& name = room ? source : "other sources";
  Source& entry = sources_[name];
  entry.last = why;
  if (++entry.count > 1 && now - entry.logged < std::chrono::minutes(1)) return;
  entry.logged = now;
  log().warn("refused a connection from {}: {} ({} so far)", name, why, entry.count);
}

std::string Strangers::summary() const {
  if (sources_.empty() && put_off_ == 0) return "";
  std::vector<std::string> parts;
  if (put_off_ > 0) parts.push_back(fmt::format("{} callers of a crowd", put_off_));
  std::size_t shown = 0;
  for (const auto& [name, entry] : sources_) {
    if (++shown > kShownSources) break;
    parts.push_back(fmt::format("{} ({} times, last: {})", name, entry.count, entry.last));
  }
  if (shown > kShownSources) parts.push_back(fmt::format("{} other sources", sources_.size() - kShownSources));
  return fmt::format("refused meanwhile: {}", fmt::join(parts, ", "));
}

}  // namespace casync::runtime
