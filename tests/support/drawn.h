// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

namespace casync::test {

/// Vectors of random numbers by what they are drawn from. Tests ask for the same ones again and again, and drawing one
/// takes longer than most of what is done with it: so they are kept, as many as fit. Any thread may ask.
template <class Key>
class Drawn {
 public:
  /// The vector of this key, which draw() gives.
  template <class Draw>
  std::vector<float> get(const Key& key, const Draw& draw) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = vectors_.find(key); known != vectors_.end()) return known->second;
    }
    std::vector<float> values = draw();
    if (values.size() > kMost / 2) return values;
    const std::lock_guard lock(mutex_);
    if (floats_ + values.size() > kMost) {
      vectors_.clear();
      floats_ = 0;
    }
    if (vectors_.emplace(key, values).second) floats_ += values.size();
    return values;
  }

 private:
  static constexpr std::size_t kMost = 32'000'000;  // floats

  std::mutex mutex_;
  std::map<Key, std::vector<float>> vectors_;
  std::size_t floats_ = 0;
};

}  // namespace casync::test
