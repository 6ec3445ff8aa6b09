// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/emulated/launch.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "tests/compll/cuda/emulated/emulated.h"
#include "tests/compll/cuda/emulated/fibre.h"
// Needs emulated.h first.
#include "compll/ops/cuda/types.cuh"

casync::compll::emulated::Index threadIdx, blockIdx, gridDim;

namespace casync::compll::cuda {
/// Shared memory of the block that runs. A launch may ask for as much as a multiprocessor has.
Quad<float> shared_quads[227 * 1024 / sizeof(Quad<float>)];
}  // namespace casync::compll::cuda

namespace casync::compll::emulated {
namespace {

constexpr unsigned kLanes = 32;
/// Blocks that run at a time: the others begin as these end.
constexpr unsigned kTogether = 7;
/// Waits of a block's threads until another block has its turn.
constexpr unsigned kWaitsInTurn = 4;

/// The meeting of a warp's lanes. A lane is at most one meeting ahead of another, so two sets of words are enough.
struct Warp {
  std::array<std::array<std::uint64_t, kLanes>, 2> words{};
  std::array<const char*, 2> operation{};
  std::uint64_t arrived = 0;
};

/// At its end a thread waits to be one of another block: to begin a fibre takes system calls.
struct Thread {
  Fibre fibre;
  bool is_done = false;
  std::uint64_t meetings = 0, barriers = 0;
  const std::uint64_t* awaited = nullptr;  ///< a count that has to be `least` for the thread to go on
  std::uint64_t least = 0;

  bool can_go_on() const { return !is_done && (awaited == nullptr || *awaited >= least); }
};

/// A block of threads that runs, and its shared memory while another one has its turn.
struct Block {
  unsigned index = 0;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<std::byte> shared;
  std::uint64_t at_barrier = 0;
  std::array<std::uint64_t, 2> votes{};  ///< the last barrier at which a thread voted for it, of even and of odd ones
  unsigned done = 0;                     ///< threads
};

struct Machine {
  std::vector<Block> blocks;
  Block* running = nullptr;
  Block* loaded = nullptr;     ///< whose memory is in shared_quads
  Thread* thread = nullptr;    ///< the one that runs
  std::uint64_t progress = 0;  ///< arrivals and ends: nobody waits for ever
  const std::function<void()>* kernel = nullptr;
  cuda::Grid grid;
  Order order = Order::kForward;
};
Machine machine;

/// Runs on each fibre.
void run_threads() {
  for (;;) {
    (*machine.kernel)();
    machine.thread->is_done = true;
    ++machine.running->done;
    ++machine.progress;
    machine.thread->fibre.leave();
  }
}

[[noreturn]] void fail(const char* reason) {
  std::fprintf(stderr, "emulated kernel: block %u: %s\n", blockIdx.x, reason);
  std::abort();
}

void start(Block& block, unsigned index) {
  if (machine.loaded == &block) machine.loaded = nullptr;
  block.index = index;
  block.at_barrier = 0;
  block.done = 0;
  block.votes = {};
  block.warps.assign(machine.grid.threads / kLanes, {});
  block.shared.assign(machine.grid.shared_bytes, std::byte{0xff});  // NaN
  if (block.threads.size() < machine.grid.threads) block.threads.resize(machine.grid.threads);
  for (unsigned t = 0; t < machine.grid.threads; ++t) {
    block.threads[t].is_done = false;
    block.threads[t].meetings = block.threads[t].barriers = 0;
  }
}

/// Puts the block's shared memory where kernels have it.
void load(Block& block) {
  if (machine.loaded == &block) return;
  if (machine.loaded != nullptr) {
    std::vector<std::byte>& shared = machine.loaded->shared;
    std::memcpy(shared.data(), static_cast<const void*>(cuda::shared_quads), shared.size());
  }
  std::memcpy(static_cast<void*>(cuda::shared_quads), block.shared.data(), block.shared.size());
  machine.loaded = &block;
}

/// Runs each of the block's threads that does not wait until it does.
void run_threads_of(Block& block) {
  for (unsigned turn = 0; turn < machine.grid.threads; ++turn) {
    const unsigned t = machine.order == Order::kForward ? turn : machine.grid.threads - 1 - turn;
    Thread& thread = block.threads[t];
    if (!thread.can_go_on()) continue;
    threadIdx.x = t;
    machine.thread = &thread;
    thread.fibre.enter(run_threads);
  }
}

/// Runs the block's threads until each has waited a few times: to change blocks takes long.
void give_turn(Block& block) {
  blockIdx.x = block.index;
  machine.running = &block;
  load(block);
  for (unsigned waits = 0; waits < kWaitsInTurn && block.done < machine.grid.threads; ++waits) run_threads_of(block);
}

/// Lets others run until a count is as large as that.
void wait_for(const std::uint64_t& count, std::uint64_t least) {
  if (count >= least) return;
  Thread& own = *machine.thread;
  own.awaited = &count;
  own.least = least;
  wait_for_others();
  own.awaited = nullptr;
}

}  // namespace

void wait_for_others() { machine.thread->fibre.leave(); }

const std::uint64_t* exchange(const char* operation, std::uint64_t own) {
  Warp& warp = machine.running->warps[threadIdx.x / kLanes];
  const std::uint64_t meeting = machine.thread->meetings++;
  const std::size_t set = meeting % 2;
  if (warp.arrived % kLanes == 0) warp.operation[set] = operation;
  const char* const theirs = warp.operation[set];
  if (theirs != operation && std::strcmp(theirs, operation) != 0) fail("threads of a warp meet in different places");
  warp.words[set][threadIdx.x % kLanes] = own;
  ++warp.arrived;
  ++machine.progress;
  wait_for(warp.arrived, (meeting + 1) * kLanes);
  return warp.words[set].data();
}

void wait_for_block() {
  Block& block = *machine.running;
  const std::uint64_t barrier = machine.thread->barriers++;
  ++block.at_barrier;
  ++machine.progress;
  wait_for(block.at_barrier, (barrier + 1) * machine.grid.threads);
}

bool any_of_block(bool own) {
  Block& block = *machine.running;
  const std::uint64_t barrier = machine.thread->barriers + 1;
  if (own) block.votes[barrier % 2] = barrier;
  wait_for_block();
  return block.votes[barrier % 2] == barrier;
}

void launch(cuda::Kernel kernel, const cuda::Grid& grid, const cuda::Launch& launch, Order order) {
  emulated::launch([&] { kernel(launch); }, grid, order);
}

void launch(const std::function<void()>& kernel, const cuda::Grid& grid, Order order) {
  if (grid.shared_bytes > sizeof cuda::shared_quads) fail("more shared memory than there is");
  if (grid.threads % kLanes != 0) fail("a block of no whole warps");
  machine.kernel = &kernel;
  machine.grid = grid;
  machine.order = order;
  gridDim.x = grid.blocks;
  machine.loaded = nullptr;
  machine.blocks.resize(std::max<std::size_t>(machine.blocks.size(), kTogether));
  unsigned begun = 0, ended = 0;
  const auto start_next = [&](Block& block) {
    start(block, order == Order::kForward ? begun : grid.blocks - 1 - begun);
    ++begun;
  };
  const unsigned together = std::min(grid.blocks, kTogether);
  for (unsigned b = 0; b < together; ++b) start_next(machine.blocks[b]);
  while (ended < grid.blocks) {
    const std::uint64_t before = machine.progress;
    for (unsigned b = 0; b < together; ++b) {
      Block& block = machine.blocks[b];
      if (block.done == grid.threads) continue;
      give_turn(block);
      if (block.done < grid.threads) continue;
      ++ended;
      if (begun < grid.blocks) start_next(block);
    }
    if (machine.progress == before) fail("threads wait for others that never come");
  }
}

}  // namespace casync::compll::emulated
