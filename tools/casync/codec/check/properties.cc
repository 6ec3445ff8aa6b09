// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/codec/check/properties.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "compll/codec/coded/coded_codec.h"
#include "tools/casync/codec/check/group.h"
#include "tools/casync/codec/check/suite.h"
#include "tools/casync/codec_figures/samples.h"
#include "tools/casync/codec_figures/trial.h"

namespace casync::tools {
namespace {

using compll::Codec;
using Floats = std::vector<float>;

bool is_finite(const Sample& sample) { return sample.kind != Sample::Kind::kNotFinite; }

double norm_squared(std::span<const float> x) {
  double sum = 0;
  for (const float value : x) sum += static_cast<double>(value) * value;
  return sum;
}

double distance_squared(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(static_cast<double>(a[i]) - b[i], 2);
  return sum;
}

/// A residual for the sample: small compared with it.
Floats residual_of(const Sample& sample) {
  Floats residual = sample.values;
  for (float& value : residual) value = std::fabs(value) < 1e38f ? value * 0.125f : 0.0f;
  return residual;
}

std::string has_its_size(const Checked& checked, const Sample& sample) {
  const Trial trial = encode(checked.codec, sample.values);
  if (!trial.stayed_inside) return "encode writes outside of its memory";
  const bool fits = trial.encoded.size <= trial.bound && compll::size_varies(checked.codec);
  if (trial.encoded.size != trial.bound && !fits) {
    return text_of("encode says ", trial.encoded.size, " bytes, encoded_bound ", trial.bound);
  }
  const Status status = checked.codec.check(trial.view(), sample.values.size());
  if (!status) return "its own payload is refused: " + status.message();
  bool stayed_inside = true;
  decode(checked.codec, trial, sample.values.size(), &stayed_inside);
  return stayed_inside ? "" : "decode writes outside of its memory";
}

/// The state after a step: on the rank that encodes, on the one that merges, and on each for its result.
struct Kept {
  Floats of_encode, of_merge, of_result;
};

/// Returns true if a sum of such elements is finite.
bool can_be_added(std::span<const float> decoded) {
  return std::all_of(decoded.begin(), decoded.end(), [](float value) { return std::fabs(value) < 1e38f; });
}

/// Compares a step of a codec and of its meaning, from the same states; `kept` becomes the meaning's new state.
std::string step_differs(const Checked& checked, std::span<const float> x, const TrialOptions& at, Kept& kept) {
  const Codec &codec = checked.codec, &meaning = *checked.meaning;
  const Elements n = x.size();
  const Trial is = encode(codec, x, kept.of_encode, at), should = encode(meaning, x, kept.of_encode, at);
  if (std::string found = difference("payload", is.payload, should.payload); !found.empty()) return found;
  if (std::string found = difference("state", is.states, should.states, NanBits::kAny); !found.empty()) return found;
  const Floats decoded = decode(meaning, should, n);
  if (std::string found = difference("decoded element", decode(codec, is, n), decoded, NanBits::kAny); !found.empty()) {
    return found;
  }
  kept.of_encode = should.states;
  if (!can_be_added(decoded)) return "";
  const std::vector<ConstView> codes = {should.view(), should.view()};
  const Trial merged = merge(codec, codes, n, 0.75f, kept.of_merge, at);
  const Trial expected = merge(meaning, codes, n, 0.75f, kept.of_merge, at);
  if (std::string found = difference("merged payload", merged.payload, expected.payload); !found.empty()) return found;
  if (std::string found = difference("state of merge", merged.states, expected.states, NanBits::kAny); !found.empty()) {
    return found;
  }
  kept.of_merge = expected.states;
  if (!codec.info().has_result) return "";
  const ResultTrial made = make_result(codec, decoded, kept.of_result, at);
  const ResultTrial wanted = make_result(meaning, decoded, kept.of_result, at);
  if (std::string found = difference("result", made.gradient, wanted.gradient, NanBits::kAny); !found.empty()) {
    return found;
  }
  if (std::string found = difference("state of result", made.states, wanted.states, NanBits::kAny); !found.empty()) {
    return found;
  }
  kept.of_result = wanted.states;
  return "";
}

/// NaN has many bit patterns, which are not promised: for a gradient with a NaN only decoded elements are compared.
std::string differs_beside_nan(const Checked& checked, const Sample& sample) {
  const Elements n = sample.values.size();
  const Trial is = encode(checked.codec, sample.values), should = encode(*checked.meaning, sample.values);
  if (is.encoded.finite != should.encoded.finite) return "only one of the two says that it is finite";
  return difference("decoded element", decode(checked.codec, is, n), decode(*checked.meaning, should, n),
                    NanBits::kAny);
}

bool all_finite(const Kept& kept) { return finite(kept.of_encode) && finite(kept.of_merge) && finite(kept.of_result); }

/// Some steps of a codec that keeps anything. An interpreter is slow: long gradients take one step.
std::string is_as_interpreted(const Checked& checked, const Sample& sample) {
  if (!is_finite(sample)) return differs_beside_nan(checked, sample);
  const Codec& codec = checked.codec;
  const Elements n = sample.values.size();
  const std::uint32_t steps = codec.info().states == 0 || n > 5000 ? 1 : 4;
  Kept kept{states_from(codec, n, residual_of(sample)), states_from(codec, n), states_from(codec, n)};
  Floats x = sample.values;
  for (std::uint32_t step = 0; step < steps && all_finite(kept); ++step) {
    const std::string found = step_differs(checked, x, {.seed = 7, .step = step}, kept);
    if (!found.empty()) return step == 0 ? found : text_of("in step ", step + 1, " ", found);
    std::reverse(x.begin(), x.end());
  }
  return "";
}

std::string is_repeatable(const Checked& checked, const Sample& sample) {
  return difference("payload of a second encoding", encode(checked.codec, sample.values).payload,
                    encode(checked.codec, sample.values).payload);
}

std::string tells_not_finite(const Checked& checked, const Sample& sample) {
  const Trial trial = encode(checked.codec, sample.values);
  if (trial.encoded.finite != is_finite(sample)) {
    return is_finite(sample) ? "it is said to be not finite" : "it is said to be finite";
  }
  const bool decoded = finite(decode(checked.codec, trial, sample.values.size()));
  return is_finite(sample) && !decoded ? "what is decoded is not finite" : "";
}

std::string adds_what_it_decodes(const Checked& checked, const Sample& sample) {
  if (!is_finite(sample)) return "";
  const Elements n = sample.values.size();
  const Trial trial = encode(checked.codec, sample.values);
  Guarded<float> sum(n);
  Floats expected = decode(checked.codec, trial, n);
  for (Elements i = 0; i < n; ++i) {
    sum.data()[i] = static_cast<float>(i % 7);
    expected[i] = sum.data()[i] + expected[i];
  }
  checked.codec.decode_add(trial.view(), n, sum.data());
  if (!sum.whole()) return "decode_add writes outside of its memory";
  return difference("element", sum.span(), expected);
}

std::string merges_as_it_encodes(const Checked& checked, const Sample& sample) {
  if (!is_finite(sample)) return "";
  const Codec& codec = checked.codec;
  const Elements n = sample.values.size();
  const float scale = 1.0f / 3;
  Floats reversed(sample.values.rbegin(), sample.values.rend());
  const Trial one = encode(codec, sample.values), other = encode(codec, reversed);
  Floats sum = decode(codec, one, n);
  const Floats second = decode(codec, other, n), third = codec.info().coded_terms ? sum : sample.values;
  for (Elements i = 0; i < n; ++i) sum[i] = sum[i] + second[i] + third[i];
  const compll::Contribution raw{{}, sample.values.data()};
  const compll::Contribution terms[] = {{one.view(), nullptr},
                                        {other.view(), nullptr},
                                        codec.info().coded_terms ? compll::Contribution{one.view()} : raw};
  Guarded<std::byte> merged(codec.encoded_bound(n));
  compll::EncodeContext context;
  context.seed = 7;
  const Bytes size = codec.merge(terms, n, scale, codec, {}, context, merged.data()).size;
  if (!merged.whole() || size > merged.size()) return "merge writes outside of its memory";
  std::vector<std::byte> payload = merged.taken();
  payload.resize(size);
  return difference("merged payload", payload, encode(codec, sum, {}, {.sum_scale = scale}).payload);
}

/// Checks a merge of two codes of one step: a second encoding of their sum changes nothing but the last two bits of
/// float32, which the sums within a codec may round. Those are the largest element's: others may share its sums.
std::string merges_exactly(const Checked& checked, const Sample& sample) {
  if (!is_finite(sample)) return "";
  const Codec& codec = checked.codec;
  const Elements n = sample.values.size();
  Floats reversed(sample.values.rbegin(), sample.values.rend());
  const Trial one = encode(codec, sample.values), other = encode(codec, reversed);
  Floats sum = decode(codec, one, n);
  const Floats second = decode(codec, other, n);
  for (Elements i = 0; i < n; ++i) sum[i] += second[i];
  const Floats again = decode(codec, encode(codec, sum, {}, {.sum_scale = 1}), n);
  float largest = 0;
  for (const float x : sum) largest = std::max(largest, std::fabs(x));
  for (Elements i = 0; i < n; ++i) {
    if (again[i] == sum[i] || std::fabs(again[i] - sum[i]) <= std::ldexp(largest, -22)) continue;
    return text_of("element of a sum that was encoded again ", i, " is ", again[i], ", expected ", sum[i]);
  }
  return "";
}

std::string conserves(const Checked& checked, const Sample& sample) {
  if (!is_finite(sample)) return "";
  const Floats before = residual_of(sample);
  const Trial trial = encode(checked.codec, sample.values, states_from(checked.codec, before.size(), before));
  const Floats decoded = decode(checked.codec, trial, sample.values.size());
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    const double p = static_cast<double>(sample.values[i] + before[i]);
    const double given = static_cast<double>(decoded[i]) + trial.states[i];
    const double rounding = 0x1p-22 * std::max(std::fabs(p), std::fabs(static_cast<double>(decoded[i])));
    if (std::fabs(given - p) <= rounding + 0x1p-148) continue;
    return text_of("element ", i, " with its residual is ", p, ", decoded and left over together are ", given);
  }
  return "";
}

/// Checks it on average: a codec that draws which elements it sends may miss the only one there is.
std::string comes_nearer(const Checked& checked, const Sample& sample) {
  constexpr std::size_t kSeeds = 512;
  const double norm = norm_squared(sample.values);
  if (!is_finite(sample) || norm == 0) return "";
  double sum = 0;
  for (std::size_t seed = 0; seed < kSeeds; ++seed) {
    const Trial trial = encode(checked.codec, sample.values, {}, {.seed = seed});
    sum += distance_squared(decode(checked.codec, trial, sample.values.size()), sample.values);
    if (sum < static_cast<double>(seed + 1) * norm) return "";
  }
  return text_of("||D(E(x)) - x||^2 is ", sum / kSeeds, ", ||x||^2 only ", norm);
}

/// The mean error of many encodings, summed up with signs: those of the gradient, which show that it shrinks or grows,
/// and others at random. If elements are rounded independently of each other, every such sum has the variance that all
/// errors have together, which is known well even if single elements are rarely sent.
std::string is_right_on_average(const Checked& checked, const Sample& sample) {
  constexpr std::size_t kSeeds = 512, kSums = 16;
  const Elements n = sample.values.size();
  const double norm = std::sqrt(norm_squared(sample.values));
  if (sample.kind != Sample::Kind::kOrdinary || n > 1000 || norm == 0) return "";
  std::mt19937 random(11);
  std::vector<std::vector<float>> signs(kSums, std::vector<float>(n, 1.0f));
  for (std::size_t s = 0; s < kSums; ++s) {
    for (Elements i = 0; i < n; ++i) {
      const bool down = s == 0 ? sample.values[i] < 0 : s > 1 && random() % 2 == 0;
      if (down) signs[s][i] = -1;
    }
  }
  std::vector<double> sum(kSums), squares(kSums);
  double all = 0;
  for (std::size_t seed = 0; seed < kSeeds; ++seed) {
    const Floats decoded = decode(checked.codec, encode(checked.codec, sample.values, {}, {.seed = seed}), n);
    all += distance_squared(decoded, sample.values) / kSeeds;
    for (std::size_t s = 0; s < kSums; ++s) {
      double error = 0;
      for (Elements i = 0; i < n; ++i) error += signs[s][i] * (static_cast<double>(decoded[i]) - sample.values[i]);
      sum[s] += error;
      squares[s] += error * error;
    }
  }
  for (std::size_t s = 0; s < kSums; ++s) {
    const double mean = sum[s] / kSeeds, variance = std::max(all, squares[s] / kSeeds - mean * mean);
    const double allowed = 6 * std::sqrt(variance / kSeeds) + 1e-6 * norm * std::sqrt(static_cast<double>(n));
    if (std::fabs(mean) <= allowed) continue;
    return text_of("the errors add up to ", mean, " on average over ", kSeeds, " seeds, with ",
                   s == 0   ? "the elements' signs"
                   : s == 1 ? "equal signs"
                            : "random signs",
                   "; expected at most ", allowed, " (6 sigma)");
  }
  return "";
}

std::string bears_tampering(const Checked& checked, const Sample& sample) {
  const Elements n = sample.values.size();
  if (n > 1000) return "";
  const Trial trial = encode(checked.codec, sample.values);
  std::vector<std::byte> longer = trial.payload;
  longer.push_back(std::byte{0});
  if (checked.codec.check({longer.data(), longer.size()}, n).is_ok()) return "a payload with a byte too many is taken";
  if (!trial.payload.empty() && checked.codec.check({trial.payload.data(), trial.payload.size() - 1}, n).is_ok()) {
    return "a payload with a byte too few is taken";
  }
  std::mt19937 random(static_cast<std::uint32_t>(n));
  for (int flip = 0; flip < 64 && !trial.payload.empty(); ++flip) {
    std::vector<std::byte> bytes = trial.payload;
    for (unsigned i = random() % 4 + 1; i > 0; --i) bytes[random() % bytes.size()] ^= std::byte(1 << random() % 8);
    if (!checked.codec.check({bytes.data(), bytes.size()}, n).is_ok()) continue;
    Guarded<float> out(n);
    checked.codec.decode({bytes.data(), bytes.size()}, n, out.data());
    if (!out.whole()) return "decode of a payload with flipped bits writes outside of its memory";
  }
  return "";
}

/// The rows of every codec, and of its declarations.
std::vector<Row<Checked, Sample>> rows_for(const Checked& checked) {
  std::vector<Row<Checked, Sample>> rows = {
      {"a payload has its size and passes its own check", Reach::kEverywhere, has_its_size},
      {"the same input gives the same bytes", Reach::kEverywhere, is_repeatable},
      {"NaN and infinity are reported, the rest decodes to finite numbers", Reach::kOrdinary, tells_not_finite},
      {"decode_add adds what decode gives", Reach::kOrdinary, adds_what_it_decodes},
      {"merge is decode, add, encode", Reach::kOrdinary, merges_as_it_encodes},
      {"tampered payloads are refused, or decoded within their memory", Reach::kEverywhere, bears_tampering},
  };
  if (checked.meaning != nullptr) {
    rows.insert(rows.begin() + 1, {"the bytes are the interpreter's", Reach::kEverywhere, is_as_interpreted});
  }
  if (checked.codec.info().feedback) {
    rows.push_back({"feedback: decoded and residual are together the input", Reach::kOrdinary, conserves});
  }
  if (checked.codec.info().exact_merge) {
    rows.push_back({"exact_merge: encoding a sum again changes nothing", Reach::kOrdinary, merges_exactly});
  }
  if (checked.contractive) {
    rows.push_back({"contractive: ||D(E(x)) - x|| < ||x||", Reach::kOrdinary, comes_nearer});
  }
  if (checked.unbiased) {
    rows.push_back({"unbiased: right on average over 512 seeds", Reach::kOrdinary, is_right_on_average});
  }
  return rows;
}

}  // namespace

std::vector<Verdict> check_properties(const Checked& checked) {
  Suite suite(checked, rows_for(checked));
  for (const Elements n : sample_sizes()) {
    for (const Sample& sample : samples(n)) {
      suite.ask(sample, sample.kind, text_of(sample.name, ", ", n, n == 1 ? " element" : " elements"));
    }
  }
  std::vector<Verdict> verdicts = std::move(suite).verdicts();
  verdicts.push_back(check_steps(checked.codec, checked.meaning == nullptr ? Length::kShort : Length::kLong));
  return verdicts;
}

std::string broken_property(const Checked& checked) {
  Suite suite(checked, rows_for({checked.codec, checked.meaning}));
  for (const Elements n : {1, 33, 129, 1000, 4099}) {
    for (const Sample& sample : samples(n)) {
      suite.ask(sample, sample.kind, text_of(sample.name, ", ", n, n == 1 ? " element" : " elements"));
    }
  }
  for (const Verdict& verdict : std::move(suite).verdicts()) {
    if (verdict.state == Verdict::State::kFails) return verdict.property + ": " + verdict.detail;
  }
  return "";
}

bool all_hold(const std::vector<Verdict>& verdicts) {
  return std::none_of(verdicts.begin(), verdicts.end(),
                      [](const Verdict& verdict) { return verdict.state == Verdict::State::kFails; });
}

}  // namespace casync::tools
