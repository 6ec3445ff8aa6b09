// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/profile/training_load.h"

#include <atomic>
#include <barrier>
#include <cstdint>
#include <thread>
#include <vector>

namespace casync::tools {
namespace {

constexpr std::size_t kSide = 96;     // of a block: three of them fit into the first two caches
constexpr std::size_t kBlocks = 128;  // of a thread's weights: 4.5 MiB, read one after the other
constexpr std::size_t kBlocksAtOnce =
    4;  // of a layer: some tenths of a millisecond, as a framework's smaller operations

/// c += a b, in the order that a compiler makes vectors of.
void multiply(const float* a, const float* b, float* c) {
  for (std::size_t i = 0; i < kSide; ++i) {
    for (std::size_t k = 0; k < kSide; ++k) {
      const float factor = a[i * kSide + k];
      for (std::size_t j = 0; j < kSide; ++j) c[i * kSide + j] += factor * b[k * kSide + j];
    }
  }
}

}  // namespace

struct TrainingLoad::State {
  /// Runs once between two layers, when all threads have met.
  struct NextLayer {
    State* state;
    void operator()() noexcept {
      state->layers.fetch_add(1, std::memory_order_relaxed);
      state->over = state->stop.load(std::memory_order_relaxed);
    }
  };

  explicit State(int count) : meeting(count, NextLayer{this}) {}

  void train() {
    std::vector<float> weights(kBlocks * kSide * kSide, 1e-3f), in(kSide * kSide, 1e-3f), out(kSide * kSide);
    for (std::size_t block = 0; !over;) {
      for (std::size_t i = 0; i < kBlocksAtOnce; ++i, block = (block + 1) % kBlocks) {
        multiply(in.data(), weights.data() + block * kSide * kSide, out.data());
      }
      // The result stays finite, and is one that somebody asks for.
      in[block] = 1e-6f * out[block];
      out.assign(out.size(), 0);
      meeting.arrive_and_wait();
    }
  }

  std::atomic<std::uint64_t> layers{0};
  std::atomic<bool> stop{false};
  bool over = false;  ///< written between layers only
  std::barrier<NextLayer> meeting;
  std::vector<std::thread> threads;
};

TrainingLoad::TrainingLoad(int threads) : state_(std::make_unique<State>(threads)) {
  for (int i = 0; i < threads; ++i) state_->threads.emplace_back([state = state_.get()] { state->train(); });
}

TrainingLoad::~TrainingLoad() {
  state_->stop = true;
  for (std::thread& thread : state_->threads) thread.join();
}

double TrainingLoad::layers() const { return static_cast<double>(state_->layers.load(std::memory_order_relaxed)); }

}  // namespace casync::tools
