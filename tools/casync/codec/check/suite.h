// SPDX-License-Identifier: Apache-2.0
//
// Properties as rows, and the verdict on each over many samples.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tools/casync/codec/check/properties.h"
#include "tools/casync/codec_figures/samples.h"

namespace casync::tools {

template <class... Parts>
std::string text_of(const Parts&... parts) {
  std::ostringstream text;
  text.precision(9);
  (text << ... << parts);
  return text.str();
}

inline bool finite(std::span<const float> x) {
  return std::all_of(x.begin(), x.end(), [](float value) { return std::isfinite(value); });
}

/// The comparison of two NaNs: by bits, or as equal, as the bits of NaNs of matrix products vary (docs/language.md).
enum class NanBits { kSame, kAny };

/// The first place where two arrays are not the same bytes, in words.
inline std::string difference(const std::string& what, std::span<const float> is, std::span<const float> should,
                              NanBits nan = NanBits::kSame) {
  for (std::size_t i = 0; i < is.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(is[i]) == std::bit_cast<std::uint32_t>(should[i])) continue;
    if (nan == NanBits::kAny && std::isnan(is[i]) && std::isnan(should[i])) continue;
    return text_of(what, " ", i, " is ", is[i], ", expected ", should[i]);
  }
  return "";
}

inline std::string difference(const std::string& what, const std::vector<std::byte>& is,
                              const std::vector<std::byte>& should) {
  if (is.size() != should.size()) return text_of(what, " has ", is.size(), " bytes, expected ", should.size());
  const auto at = std::mismatch(is.begin(), is.end(), should.begin());
  if (at.first == is.end()) return "";
  return text_of("byte ", at.first - is.begin(), " of the ", what, " is ", std::to_integer<int>(*at.first),
                 ", expected ", std::to_integer<int>(*at.second));
}

/// The samples on which a property has to hold: all; all but those at the ends of float's range, where a violation is
/// a remark; or none: a violation is a remark, and the ends are not tried.
enum class Reach { kEverywhere, kOrdinary, kRemark };

/// `broken`: describes how a sample breaks it, "" if it does not.
template <class Checked, class Of>
struct Row {
  const char* name;
  Reach reach;
  std::string (*broken)(const Checked& checked, const Of& sample);
};

template <class Checked, class Of>
class Suite {
 public:
  Suite(const Checked& checked, std::vector<Row<Checked, Of>> rows) : checked_(checked), rows_(std::move(rows)) {
    for (const auto& row : rows_) verdicts_.push_back({row.name, Verdict::State::kHolds, ""});
  }

  /// Asks every property that has not failed; `named` describes the sample for people.
  void ask(const Of& sample, Sample::Kind kind, const std::string& named) {
    const bool extreme = kind == Sample::Kind::kExtreme;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      Verdict& verdict = verdicts_[i];
      const Reach reach = rows_[i].reach;
      const bool note = reach == Reach::kRemark || (reach == Reach::kOrdinary && extreme);
      if (verdict.state == Verdict::State::kFails || (reach == Reach::kRemark && extreme)) continue;
      if (note && verdict.state == Verdict::State::kNote) continue;
      const std::string found = rows_[i].broken(checked_, sample);
      if (found.empty()) continue;
      verdict.state = note ? Verdict::State::kNote : Verdict::State::kFails;
      verdict.detail = named + ": " + found;
    }
  }

  std::vector<Verdict> verdicts() && { return std::move(verdicts_); }

 private:
  const Checked& checked_;
  const std::vector<Row<Checked, Of>> rows_;
  std::vector<Verdict> verdicts_;
};

}  // namespace casync::tools
