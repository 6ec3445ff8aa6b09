// SPDX-License-Identifier: Apache-2.0
//
// One codec called on one gradient, with guards around the memory it writes.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "compll/codec/codec.h"

namespace casync::tools {

/// An array with a guard on either side: whole() says that nobody wrote there.
template <class T>
class Guarded {
 public:
  explicit Guarded(std::size_t size) : all_(size + 2 * kGuard) {
    std::memset(static_cast<void*>(all_.data()), kPattern, all_.size() * sizeof(T));
  }
  T* data() { return all_.data() + kGuard; }
  const T* data() const { return all_.data() + kGuard; }
  std::size_t size() const { return all_.size() - 2 * kGuard; }
  std::span<const T> span() const { return {data(), size()}; }
  std::vector<T> taken() const { return {data(), data() + size()}; }
  bool whole() const { return untouched(0) && untouched(all_.size() - kGuard); }

 private:
  static constexpr std::size_t kGuard = 64;
  static constexpr int kPattern = 0x5a;

  bool untouched(std::size_t from) const {
    const auto* bytes = reinterpret_cast<const unsigned char*>(all_.data() + from);
    return std::all_of(bytes, bytes + kGuard * sizeof(T), [](unsigned char byte) { return byte == kPattern; });
  }

  std::vector<T> all_;
};

/// An encoding and the codec's states after it.
struct Trial {
  std::vector<std::byte> payload;
  std::vector<float> states;  ///< all states, one after the other; without any, the residual
  compll::Encoded encoded;
  Bytes bound = 0;  ///< bytes that the encoder was given
  bool stayed_inside = true;

  ConstView view() const { return {payload.data(), payload.size()}; }
};

struct TrialOptions {
  std::uint64_t seed = 7;
  std::uint32_t step = 0;
  std::optional<float> sum_scale = std::nullopt;  ///< x is a sum of decoded elements, and this times x is encoded
};

/// As many floats as a codec keeps of n elements.
inline std::size_t kept_floats(const compll::Codec& codec, Elements n) {
  return std::max<std::size_t>(codec.info().states, 1) * n;
}

/// All states as a codec begins with them, the first one being `first` where it is not empty.
inline std::vector<float> states_from(const compll::Codec& codec, Elements n, std::span<const float> first = {}) {
  std::vector<float> states(kept_floats(codec, n));
  for (std::size_t i = 0; i < codec.info().states; ++i) {
    std::fill_n(states.begin() + static_cast<std::ptrdiff_t>(i * n), n, codec.info().state_initial[i]);
  }
  std::copy(first.begin(), first.end(), states.begin());
  return states;
}

/// run(states, payload) encodes n elements.
template <class Run>
Trial tried(const compll::Codec& codec, Elements n, std::span<const float> before, const Run& run) {
  Guarded<std::byte> payload(codec.encoded_bound(n));
  Guarded<float> out(kept_floats(codec, n));
  const compll::Residual kept{before.empty() ? nullptr : before.data(), out.data(), n};
  Trial trial;
  trial.encoded = run(kept, payload.data());
  trial.bound = payload.size();
  trial.payload = payload.taken();
  trial.payload.resize(std::min(trial.encoded.size, trial.bound));
  trial.states = out.taken();
  trial.stayed_inside = payload.whole() && out.whole();
  return trial;
}

inline compll::EncodeContext context_of(const TrialOptions& options) {
  compll::EncodeContext context;
  context.seed = options.seed;
  context.step = options.step;
  return context;
}

/// `before`: all states, as states_from; none: the codec begins anew.
inline Trial encode(const compll::Codec& codec, std::span<const float> x, std::span<const float> before = {},
                    const TrialOptions& options = {}) {
  return tried(codec, x.size(), before, [&](const compll::Residual& kept, std::byte* payload) {
    const compll::EncodeContext context = context_of(options);
    return options.sum_scale ? codec.encode_sum(x.data(), *options.sum_scale, x.size(), kept, context, payload)
                             : codec.encode(x.data(), x.size(), kept, context, payload);
  });
}

/// Merges codes of n elements.
inline Trial merge(const compll::Codec& codec, const std::vector<ConstView>& codes, Elements n, float scale,
                   std::span<const float> before = {}, const TrialOptions& options = {}) {
  std::vector<compll::Contribution> terms;
  for (const ConstView& code : codes) terms.push_back({code, nullptr});
  return tried(codec, n, before, [&](const compll::Residual& kept, std::byte* payload) {
    return codec.merge(terms, n, scale, codec, kept, context_of(options), payload);
  });
}

/// The gradient that a codec with `result` makes of the decoded elements, and the states after it.
struct ResultTrial {
  std::vector<float> gradient, states;
};

inline ResultTrial make_result(const compll::Codec& codec, std::span<const float> decoded,
                               std::span<const float> before, const TrialOptions& options = {}) {
  const Elements n = decoded.size();
  ResultTrial trial{std::vector<float>(n), std::vector<float>(kept_floats(codec, n))};
  const compll::Residual kept{before.empty() ? nullptr : before.data(), trial.states.data(), n};
  codec.result(decoded.data(), n, kept, context_of(options), trial.gradient.data());
  return trial;
}

/// `stayed_inside` says whether it wrote its n elements only; null: that is asked elsewhere.
inline std::vector<float> decode(const compll::Codec& codec, const Trial& trial, Elements n,
                                 bool* stayed_inside = nullptr) {
  Guarded<float> out(n);
  codec.decode(trial.view(), n, out.data());
  if (stayed_inside != nullptr) *stayed_inside = out.whole();
  return out.taken();
}

}  // namespace casync::tools
