// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/emulated/memory.h"

#include <sys/mman.h>

#include <cstring>
#include <map>
#include <mutex>

#include "tests/compll/cuda/emulated/driver.h"
#include "tests/compll/cuda/emulated/streams.h"

namespace casync::compll::emulated {
namespace {

using Code = DriverApi::Code;
using Memory = DriverApi::Memory;

struct Block {
  std::size_t bytes = 0;
  int device = -1;  ///< pinned: of none
};

struct State {
  std::mutex mutex;
  std::map<Memory, Block> blocks;  ///< by where they begin
  std::size_t left = ~std::size_t{0} / 2;
};
State& state() {
  static State& one = *new State;
  return one;
}

/// Pages of its own: a use of memory that was given back ends the program where it happens.
void* make(std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  std::memset(memory, 0xa5, bytes);  // a program that counts on zeros sees it
  return memory;
}

/// The block that has all of these bytes; null: none has. Under the mutex.
const Block* block_of(Memory at, std::size_t bytes) {
  auto after = state().blocks.upper_bound(at);
  if (after == state().blocks.begin()) return nullptr;
  --after;
  return at + bytes <= after->first + after->second.bytes ? &after->second : nullptr;
}

Code end(Memory memory, bool pinned) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().blocks.find(memory);
  if (found == state().blocks.end() || (found->second.device < 0) != pinned) return kInvalidValue;
  if (!pinned) state().left += found->second.bytes;
  munmap(reinterpret_cast<void*>(memory), found->second.bytes);
  state().blocks.erase(found);
  return 0;
}

}  // namespace

void set_device_memory(std::size_t bytes) {
  const std::lock_guard lock(state().mutex);
  state().left = bytes;
}

Code take_device_memory(Memory* memory, std::size_t bytes, int device) {
  const std::lock_guard lock(state().mutex);
  if (bytes == 0) return kInvalidValue;
  void* const made = bytes > state().left ? nullptr : make(bytes);
  if (made == nullptr) return DriverApi::kOutOfMemory;
  state().left -= bytes;
  *memory = reinterpret_cast<Memory>(made);
  state().blocks[*memory] = {bytes, device};
  return 0;
}
Code give_back_device_memory(Memory memory) { return end(memory, false); }

Code take_pinned(void** memory, std::size_t bytes) {
  const std::lock_guard lock(state().mutex);
  if (bytes == 0) return kInvalidValue;
  *memory = make(bytes);
  if (*memory == nullptr) return DriverApi::kOutOfMemory;
  state().blocks[reinterpret_cast<Memory>(*memory)] = {bytes, -1};
  return 0;
}
Code give_back_pinned(void* memory) { return end(reinterpret_cast<Memory>(memory), true); }

std::optional<int> device_of(Memory at, std::size_t bytes) {
  const std::lock_guard lock(state().mutex);
  const Block* const block = block_of(at, bytes);
  return block == nullptr || block->device < 0 ? std::nullopt : std::optional(block->device);
}

bool is_pinned(const void* at, std::size_t bytes) {
  const std::lock_guard lock(state().mutex);
  const Block* const block = block_of(reinterpret_cast<Memory>(at), bytes);
  return block != nullptr && block->device < 0;
}

bool is_reached(const void* at, std::size_t bytes, int device) {
  const std::lock_guard lock(state().mutex);
  const Block* const block = block_of(reinterpret_cast<Memory>(at), bytes);
  return block != nullptr && (block->device < 0 || block->device == device);
}

}  // namespace casync::compll::emulated
