// SPDX-License-Identifier: Apache-2.0
//
// One codec called on one gradient, with guards around what it writes.
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

/// What an encoding gave.
struct Trial {
  std::vector<std::byte> payload;
  std::vector<float> residual;
  compll::Encoded encoded;
  bool stayed_inside = true;

  ConstView view() const { return {payload.data(), payload.size()}; }
};

struct TrialOptions {
  std::uint64_t seed = 7;
  std::optional<float> sum_scale = std::nullopt;  ///< x is a sum of what was decoded, and this times x is encoded
};

/// `before`: the residual. States that a program keeps besides begin at zero with it, and anew without it.
inline Trial encode(const compll::Codec& codec, std::span<const float> x, std::span<const float> before = {},
                    const TrialOptions& options = {}) {
  const std::size_t n = x.size(), states = std::max<std::size_t>(codec.info().states, 1);
  Guarded<std::byte> payload(codec.encoded_bound(n));
  Guarded<float> out(states * n);
  std::vector<float> in(before.empty() ? 0 : states * n);
  std::copy(before.begin(), before.end(), in.begin());
  const compll::Residual kept{in.empty() ? nullptr : in.data(), out.data(), n};
  compll::EncodeContext context;
  context.seed = options.seed;
  Trial trial;
  trial.encoded = options.sum_scale ? codec.encode_sum(x.data(), *options.sum_scale, n, kept, context, payload.data())
                                    : codec.encode(x.data(), n, kept, context, payload.data());
  trial.payload = payload.taken();
  trial.residual.assign(out.data(), out.data() + n);
  trial.stayed_inside = payload.whole() && out.whole();
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
