// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/emulated/launch.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <utility>
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
/// In a random order: the most waits; one turn in so many has one; one place in so many where a thread may wait.
constexpr unsigned kMostWaits = 16, kShortTurns = 2, kWaits = 8;
/// And one warp in so many is slow. A thread loses so many of 16 turns.
constexpr unsigned kSlowWarps = 4, kTurns = 16, kLostIfSlow = 15, kLostElse = 4;
/// Rounds without progress after which nobody comes: in a random order all that could go on may have lost their turn.
constexpr unsigned kIdleRounds = 1, kRandomIdleRounds = 200;

/// The meeting of a warp's lanes. A lane is at most one meeting ahead of another, so two sets of words are enough.
struct Warp {
  std::array<std::array<std::uint64_t, kLanes>, 2> words{};
  std::array<const char*, 2> operation{};
  std::uint64_t arrived = 0;
  unsigned loses = 0;  ///< of kTurns
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
  std::mt19937_64 choices;      ///< of a random order
  std::vector<unsigned> turns;  ///< the threads of the block that runs, in the order of their turns
};
Machine machine;

bool is_random() { return machine.order == Order::kRandom; }
/// A random choice: 0 to count - 1.
unsigned choose(unsigned count) { return static_cast<unsigned>(machine.choices() % count); }

void shuffle(std::vector<unsigned>& all) {
  for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[choose(static_cast<unsigned>(i))]);
}

/// Fills `all` with the numbers below `count` in the order of the launch.
void put_in_order(std::vector<unsigned>& all, unsigned count) {
  all.resize(count);
  for (unsigned i = 0; i < count; ++i) all[i] = machine.order == Order::kBackward ? count - 1 - i : i;
  if (is_random()) shuffle(all);
}

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
  for (Warp& warp : block.warps) warp.loses = !is_random() ? 0 : choose(kSlowWarps) == 0 ? kLostIfSlow : kLostElse;
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

bool loses_turn(const Warp& warp) { return warp.loses != 0 && choose(kTurns) < warp.loses; }

/// The number of waits of a block's next turn.
unsigned waits_in_turn() {
  if (!is_random()) return kWaitsInTurn;
  return choose(kShortTurns) == 0 ? 1 : 1 + choose(kMostWaits);
}

/// Runs each of the block's threads that does not wait until it does.
void run_threads_of(Block& block) {
  put_in_order(machine.turns, machine.grid.threads);
  for (const unsigned t : machine.turns) {
    Thread& thread = block.threads[t];
    if (!thread.can_go_on() || loses_turn(block.warps[t / kLanes])) continue;
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
  const unsigned most = waits_in_turn();
  for (unsigned waits = 0; waits < most && block.done < machine.grid.threads; ++waits) run_threads_of(block);
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

void let_others_in() {
  if (is_random() && choose(kWaits) == 0) wait_for_others();
}

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

void seed_random_order(std::uint64_t seed) { machine.choices.seed(seed); }

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
  std::vector<unsigned> indices;
  put_in_order(indices, grid.blocks);
  unsigned begun = 0, ended = 0;
  const auto start_next = [&](Block& block) { start(block, indices[begun++]); };
  const unsigned together = std::min(grid.blocks, kTogether);
  std::vector<unsigned> places(together);
  std::iota(places.begin(), places.end(), 0u);
  for (const unsigned b : places) start_next(machine.blocks[b]);
  for (unsigned idle_rounds = 0; ended < grid.blocks;) {
    const std::uint64_t before = machine.progress;
    if (is_random()) shuffle(places);
    for (const unsigned b : places) {
      Block& block = machine.blocks[b];
      if (block.done == grid.threads) continue;
      give_turn(block);
      if (block.done < grid.threads) continue;
      ++ended;
      if (begun < grid.blocks) start_next(block);
    }
    idle_rounds = machine.progress == before ? idle_rounds + 1 : 0;
    if (idle_rounds == (is_random() ? kRandomIdleRounds : kIdleRounds)) fail("threads wait for others that never come");
  }
}

}  // namespace casync::compll::emulated
