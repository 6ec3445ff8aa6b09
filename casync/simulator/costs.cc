// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/costs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace casync {
namespace {

constexpr double kElementBytes = 4;  // codecs compute in float32, whatever the gradient's dtype

}  // namespace

CodecCurves curves_of(const Profile& profile, const std::string& codec) {
  auto found = profile.codecs.find(codec);
  if (found == profile.codecs.end()) found = profile.codecs.find(codec.substr(0, codec.find(':')));
  return found == profile.codecs.end() ? CodecCurves{} : found->second;
}

CodecCosts::CodecCosts(CodecFacts facts, const Profile& profile)
    : facts_(std::move(facts)),
      curves_(curves_of(profile, facts_.name)),
      upload_(profile.upload),
      download_(profile.download),
      memory_bytes_per_second_(profile.memory_bytes_per_second),
      launch_s_(profile.launch_s) {}

Bytes CodecCosts::payload_bytes(Elements n) const { return static_cast<Bytes>(std::ceil(code_bytes(n))); }

double CodecCosts::encode(Elements n) const {
  if (facts_.identity) return 0;
  const auto size = static_cast<double>(n);
  if (!curves_.encode.empty()) return launch_s_ + curves_.encode.at(size);
  return over_memory(size * (kElementBytes + facts_.state_bytes_per_element) + code_bytes(n));
}

double CodecCosts::decode(Elements n) const {
  if (facts_.identity) return 0;
  const auto size = static_cast<double>(n);
  if (!curves_.decode.empty()) return launch_s_ + curves_.decode.at(size);
  return over_memory(size * kElementBytes + code_bytes(n));
}

double CodecCosts::merge(Elements n, std::span<const CodecCosts* const> contributions, const CodecCosts& to) {
  const auto size = static_cast<double>(n);
  const CodecCurves* curves = &to.curves_;
  std::size_t own = 0;
  // Codes of one kind are counted: whichever of them is the rank's own, the sum is the same to the last bit.
  std::map<const CodecCosts*, int> kinds;
  for (const CodecCosts* const contribution : contributions) {
    ++kinds[contribution];
    if (contribution->facts_.own) ++own;
    if (!contribution->curves_.merge.empty()) curves = &contribution->curves_;
  }
  double codes = 0;
  for (const auto& [kind, count] : kinds) codes += count * kind->code_bytes(n);
  const double bytes = to.code_bytes(n) + size * to.facts_.state_bytes_per_element + codes;
  if (curves->merge.empty()) return to.over_memory(bytes);
  return to.merge_by(*curves, n, contributions.size(), own);
}

double CodecCosts::merge_by(const CodecCurves& curves, Elements n, std::size_t contributions, std::size_t own) const {
  const auto size = static_cast<double>(n);
  if (curves.merge_base.empty()) return launch_s_ + curves.merge.at(size * static_cast<double>(contributions));
  // A merge of nothing that is coded has no share of a code's fixed costs either.
  const double coded = static_cast<double>(contributions - own);
  return launch_s_ + curves.merge_base.at(size) + (coded > 0 ? curves.merge.at(size * coded) : 0);
}

double CodecCosts::merge_alike(Elements n, int count, const CodecCosts& contributions, const CodecCosts* one,
                               const CodecCosts& to) {
  const auto size = static_cast<double>(n);
  const bool measured = count > 0 && !contributions.curves_.merge.empty();
  const CodecCurves& curves = measured ? contributions.curves_ : to.curves_;
  const auto codes = static_cast<std::size_t>(std::max(count, 0));
  if (!curves.merge.empty()) {
    const std::size_t own = (one != nullptr && one->facts_.own ? 1 : 0) + (contributions.facts_.own ? codes : 0);
    return to.merge_by(curves, n, codes + (one != nullptr ? 1 : 0), own);
  }
  return to.over_memory(to.code_bytes(n) + size * to.facts_.state_bytes_per_element +
                        count * contributions.code_bytes(n) + (one != nullptr ? one->code_bytes(n) : 0));
}

}  // namespace casync
