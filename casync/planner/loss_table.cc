// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/loss_table.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace casync {
namespace {

constexpr double kSure = 2;  ///< standard errors: a smaller increase may be chance
constexpr double kNever = std::numeric_limits<double>::infinity();

/// Increase of the loss in percent: mean over seeds and its standard error.
struct Increase {
  double mean = 0, error = 0;
};

struct Row {
  std::string first, second;
  std::vector<Increase> increases;  ///< by optimizer
};

struct ModeRow {
  std::uint32_t every = 0, staleness = 0;
  std::vector<Increase> increases;  ///< by optimizer
};

const std::vector<Row>& rows() {
#define CASYNC_LOSS_ROW(first, second, ...) {first, second, {__VA_ARGS__}},
#define CASYNC_LOSS_MODE(...)
#define CASYNC_LOSS_EXPONENTS(...)
  static const std::vector<Row> all{
#include "casync/planner/loss_rows.inc"
  };
#undef CASYNC_LOSS_ROW
#undef CASYNC_LOSS_MODE
#undef CASYNC_LOSS_EXPONENTS
  return all;
}

const std::vector<ModeRow>& mode_rows() {
#define CASYNC_LOSS_ROW(...)
#define CASYNC_LOSS_MODE(every, staleness, ...) {every, staleness, {__VA_ARGS__}},
#define CASYNC_LOSS_EXPONENTS(...)
  static const std::vector<ModeRow> all{
#include "casync/planner/loss_rows.inc"
  };
#undef CASYNC_LOSS_ROW
#undef CASYNC_LOSS_MODE
#undef CASYNC_LOSS_EXPONENTS
  return all;
}

/// By optimizer.
const std::vector<double>& exponents() {
#define CASYNC_LOSS_ROW(...)
#define CASYNC_LOSS_MODE(...)
#define CASYNC_LOSS_EXPONENTS(...) \
  { __VA_ARGS__ }
  static const std::vector<double> all
#include "casync/planner/loss_rows.inc"
      ;
#undef CASYNC_LOSS_ROW
#undef CASYNC_LOSS_MODE
#undef CASYNC_LOSS_EXPONENTS
  return all;
}

double steps_of(const std::vector<Increase>& increases) {
  double most = 0;
  for (std::size_t i = 0; i < increases.size(); ++i) {
    const Increase& one = increases[i];
    if (one.mean < kSure * one.error) continue;
    most = std::max(most, std::pow(1 + one.mean / 100, 1 / exponents()[i]) - 1);
  }
  return most;
}

const Row* find_row(const std::string& first, const std::string& second) {
  const auto found = std::find_if(rows().begin(), rows().end(),
                                  [&](const Row& row) { return row.first == first && row.second == second; });
  return found == rows().end() ? nullptr : &*found;
}

bool is_trained(const std::string& codec) {
  return std::any_of(rows().begin(), rows().end(),
                     [&](const Row& row) { return row.first == codec || row.second == codec; });
}

/// The codec's name in the table: with its parameters, else without.
std::optional<std::string> known_name(const CodecChoice& codec) {
  for (const std::string& name : {text_of(codec), codec.name}) {
    if (is_trained(name)) return name;
  }
  return std::nullopt;
}

/// The figure of a codec on both hops.
double steps_of(const std::string& codec) {
  const Row* row = find_row(codec, codec);
  return row == nullptr ? kNever : steps_of(row->increases);
}

}  // namespace

std::vector<CodecPair> trained_pairs() {
  std::vector<CodecPair> pairs;
  for (const Row& row : rows()) {
    const Result<CodecChoice> first = parse_codec_choice(row.first), second = parse_codec_choice(row.second);
    if (first && second) pairs.push_back({*first, *second});
  }
  return pairs;
}

std::optional<double> more_steps(const CodecChoice& first, const CodecChoice& second) {
  const bool plain_first = first.name == "none", plain_second = second.name == "none";
  if (plain_first && plain_second) return 0;
  const std::optional<std::string> there = known_name(first), back = known_name(second);
  if (there && back) {
    if (const Row* row = find_row(*there, *back)) return steps_of(row->increases);
  }
  if (!there && !back) return std::nullopt;
  return std::max(there ? steps_of(*there) : 0, back ? steps_of(*back) : 0);
}

std::vector<SyncMode> trained_modes() {
  std::vector<SyncMode> modes;
  for (const ModeRow& row : mode_rows()) {
    SyncMode mode;
    mode.every = row.every;
    mode.staleness = row.staleness;
    modes.push_back(mode);
  }
  return modes;
}

std::optional<double> more_steps(const SyncMode& mode) {
  if (mode.is_gossip() || mode.is_asynchronous()) return std::nullopt;
  if (!mode.is_local() && mode.staleness == 0) return 0;
  std::optional<double> least;
  for (const ModeRow& row : mode_rows()) {
    const bool same_kind = mode.is_local() ? row.every > 0 : row.staleness > 0;
    if (!same_kind || row.every < mode.every || row.staleness < mode.staleness) continue;
    const double more = steps_of(row.increases);
    least = std::min(more, least.value_or(more));
  }
  return least;
}

}  // namespace casync
