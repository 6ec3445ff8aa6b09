// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/emulated/launch.h"

#include <ucontext.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "tests/compll/cuda/emulated/emulated.h"
// After it.
#include "compll/ops/cuda/types.cuh"

casync::compll::emulated::Index threadIdx, blockIdx;

namespace casync::compll::cuda {
/// What a launch asks for: as much as a multiprocessor has.
Quad<float> shared_quads[227 * 1024 / sizeof(Quad<float>)];
}  // namespace casync::compll::cuda

namespace casync::compll::emulated {
namespace {

constexpr unsigned kLanes = 32;
constexpr std::size_t kStackBytes = 128 * 1024;

/// Where the lanes of a warp meet. A lane is at most one meeting ahead of another, so two sets of words are enough.
struct Warp {
  std::array<std::array<std::uint64_t, kLanes>, 2> words{};
  std::array<const char*, 2> operation{};
  std::uint64_t arrived = 0;
};

struct Fibre {
  ucontext_t context{};
  std::unique_ptr<char[]> stack;
  bool is_done = false;
  std::uint64_t meetings = 0, barriers = 0;
};

struct Machine {
  std::vector<Fibre> fibres;
  std::vector<Warp> warps;
  std::uint64_t at_barrier = 0;
  std::uint64_t progress = 0;  ///< arrivals and ends: nobody waits for ever
  ucontext_t scheduler{};
  cuda::Kernel kernel = nullptr;
  const cuda::Launch* launch = nullptr;
  unsigned threads = 0;
};
Machine machine;

void yield() {
  const unsigned own = threadIdx.x;
  swapcontext(&machine.fibres[own].context, &machine.scheduler);
  threadIdx.x = own;
}

void run_thread() {
  machine.kernel(*machine.launch);
  Fibre& fibre = machine.fibres[threadIdx.x];
  fibre.is_done = true;
  ++machine.progress;
  swapcontext(&fibre.context, &machine.scheduler);
}

void start(Fibre& fibre) {
  fibre.is_done = false;
  fibre.meetings = fibre.barriers = 0;
  if (!fibre.stack) fibre.stack = std::make_unique<char[]>(kStackBytes);
  getcontext(&fibre.context);
  fibre.context.uc_stack.ss_sp = fibre.stack.get();
  fibre.context.uc_stack.ss_size = kStackBytes;
  fibre.context.uc_link = nullptr;
  makecontext(&fibre.context, run_thread, 0);
}

[[noreturn]] void fail(const char* reason) {
  std::fprintf(stderr, "emulated kernel: block %u: %s\n", blockIdx.x, reason);
  std::abort();
}

void run_block(Order order) {
  machine.at_barrier = 0;
  machine.warps.assign(machine.threads / kLanes, {});
  for (unsigned t = 0; t < machine.threads; ++t) start(machine.fibres[t]);
  for (unsigned done = 0; done != machine.threads;) {
    const std::uint64_t before = machine.progress;
    done = 0;
    for (unsigned turn = 0; turn < machine.threads; ++turn) {
      const unsigned t = order == Order::kForward ? turn : machine.threads - 1 - turn;
      Fibre& fibre = machine.fibres[t];
      if (!fibre.is_done) {
        threadIdx.x = t;
        swapcontext(&machine.scheduler, &fibre.context);
      }
      done += fibre.is_done ? 1 : 0;
    }
    if (machine.progress == before && done != machine.threads) fail("threads wait for others that never come");
  }
}

}  // namespace

const std::uint64_t* exchange(const char* operation, std::uint64_t own) {
  Warp& warp = machine.warps[threadIdx.x / kLanes];
  Fibre& fibre = machine.fibres[threadIdx.x];
  const std::uint64_t meeting = fibre.meetings++;
  const std::size_t set = meeting % 2;
  if (warp.arrived % kLanes == 0) warp.operation[set] = operation;
  if (std::strcmp(warp.operation[set], operation) != 0) fail("threads of a warp meet in different places");
  warp.words[set][threadIdx.x % kLanes] = own;
  ++warp.arrived;
  ++machine.progress;
  while (warp.arrived < (meeting + 1) * kLanes) yield();
  return warp.words[set].data();
}

void wait_for_block() {
  const std::uint64_t barrier = machine.fibres[threadIdx.x].barriers++;
  ++machine.at_barrier;
  ++machine.progress;
  while (machine.at_barrier < (barrier + 1) * machine.threads) yield();
}

void launch(cuda::Kernel kernel, const cuda::Grid& grid, const cuda::Launch& launch, Order order) {
  if (grid.shared_bytes > sizeof cuda::shared_quads) fail("more shared memory than there is");
  if (grid.threads % kLanes != 0) fail("a block of no whole warps");
  machine.kernel = kernel;
  machine.launch = &launch;
  machine.threads = grid.threads;
  if (machine.fibres.size() < grid.threads) machine.fibres.resize(grid.threads);
  for (unsigned turn = 0; turn < grid.blocks; ++turn) {
    blockIdx.x = order == Order::kForward ? turn : grid.blocks - 1 - turn;
    std::memset(static_cast<void*>(cuda::shared_quads), 0xff, grid.shared_bytes);  // NaN
    run_block(order);
  }
}

}  // namespace casync::compll::emulated
