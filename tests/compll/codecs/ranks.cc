// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/codecs/ranks.h"

#include "base/check.h"

namespace casync::compll {

Ranks::Ranks(const Codec& codec, std::size_t count, Elements n, Numbers numbers)
    : codec_(codec), n_(n), numbers_(numbers), encoders_(count), receivers_(count) {}

std::vector<float> Ranks::state(const KeptStates& states, std::size_t index) const {
  CASYNC_CHECK(index < codec_.info().states);
  if (states.empty()) return std::vector<float>(n_, 0.0f);
  const auto first = states.begin() + static_cast<std::ptrdiff_t>(index * n_);
  return {first, first + static_cast<std::ptrdiff_t>(n_)};
}

Residual Ranks::with(const KeptStates& in, KeptStates& out) const {
  return {in.empty() ? nullptr : in.data(), out.empty() ? nullptr : out.data(), n_};
}

// As the runtime's tasks have it: another seed for each rank and use.
EncodeContext Ranks::context_of(std::size_t rank, std::uint64_t use, std::uint32_t step) const {
  constexpr std::uint64_t kSeed = 11;
  const bool shared = numbers_ == Numbers::kDeclared ? codec_.info().shared_numbers : numbers_ == Numbers::kShared;
  return {shared ? kSeed : kSeed + (3 * rank + use + 1) * 0xd1342543de82ef95, 5, step, 0};
}

std::vector<std::vector<float>> Ranks::step(const std::vector<std::vector<float>>& gradients, std::uint32_t number) {
  constexpr std::size_t kOwner = 0;
  constexpr std::uint64_t kEncode = 0, kMerge = 1;
  CASYNC_CHECK(gradients.size() == encoders_.size());
  std::vector<KeptStates> encoders(encoders_.size()), receivers(encoders_.size(), fresh());
  KeptStates owner = fresh();

  std::vector<std::vector<std::byte>> codes(gradients.size(), std::vector<std::byte>(codec_.encoded_bound(n_)));
  std::vector<Contribution> contributions;
  for (std::size_t rank = 0; rank < gradients.size(); ++rank) {
    if (rank == kOwner && !codec_.info().coded_terms) {
      contributions.push_back({{}, gradients[rank].data()});
      continue;
    }
    encoders[rank] = fresh();
    const Encoded code = codec_.encode(gradients[rank].data(), n_, with(encoders_[rank], encoders[rank]),
                                       context_of(rank, kEncode, number), codes[rank].data());
    CASYNC_CHECK(code.size <= codes[rank].size());
    codes[rank].resize(code.size);
    contributions.push_back({{codes[rank].data(), codes[rank].size()}, nullptr});
    all_checked_ &= codec_.check(contributions.back().code, n_).is_ok();
  }

  std::vector<std::byte> merged(codec_.encoded_bound(n_));
  const float mean = 1 / static_cast<float>(gradients.size());
  const Encoded made = codec_.merge(contributions, n_, mean, codec_, with(owner_, owner),
                                    context_of(kOwner, kMerge, number), merged.data());
  CASYNC_CHECK(made.size <= merged.size());
  merged.resize(made.size);
  all_checked_ &= codec_.check({merged.data(), merged.size()}, n_).is_ok();

  std::vector<std::vector<float>> results(gradients.size(), std::vector<float>(n_));
  for (std::size_t rank = 0; rank < results.size(); ++rank) {
    float* out = results[rank].data();
    codec_.decode({merged.data(), merged.size()}, n_, out);
    if (codec_.info().has_result)
      codec_.result(out, n_, with(receivers_[rank], receivers[rank]), {11, 5, number, 0}, out);
  }
  if (made.finite) {
    encoders_ = std::move(encoders);
    receivers_ = std::move(receivers);
    owner_ = std::move(owner);
  }
  return results;
}

}  // namespace casync::compll
