// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/emulated/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>

#include "tests/compll/cuda/emulated/driver.h"
#include "tests/compll/cuda/emulated/streams.h"

namespace casync::compll::emulated {
namespace {

using Code = DriverApi::Code;
using Memory = DriverApi::Memory;

constexpr std::size_t kAlignment = 256;

struct Block {
  std::size_t bytes = 0;
  int device = -1;  ///< pinned: of none
  void* pages = nullptr;
  std::size_t page_bytes = 0;
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

std::size_t up_to(std::size_t bytes, std::size_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

/// Takes pages of its own: a use of memory that was given back ends the program where it happens. So does one behind
/// the end, where a page is out of reach; and memory has no more alignment than the true driver promises.
Block take_pages(std::size_t bytes, int device) {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (bytes > ~std::size_t{0} / 2) return {};
  const std::size_t usable = up_to(up_to(bytes, kAlignment), page);
  void* const pages = mmap(nullptr, usable + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return {};
  mprotect(static_cast<std::byte*>(pages) + usable, page, PROT_NONE);
  std::memset(pages, 0xa5, usable);  // a program that counts on zeros sees it
  return {bytes, device, pages, usable + page};
}

/// Notes a block, and returns where it begins. Under the mutex.
Memory note(const Block& block) {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const Memory end = reinterpret_cast<Memory>(block.pages) + block.page_bytes - page;
  const Memory begin = end - up_to(block.bytes, kAlignment);
  state().blocks[begin] = block;
  return begin;
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
  munmap(found->second.pages, found->second.page_bytes);
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
  const Block made = bytes > state().left ? Block{} : take_pages(bytes, device);
  if (made.pages == nullptr) return DriverApi::kOutOfMemory;
  state().left -= bytes;
  *memory = note(made);
  return 0;
}
Code give_back_device_memory(Memory memory) { return end(memory, false); }

Code take_pinned(void** memory, std::size_t bytes) {
  const std::lock_guard lock(state().mutex);
  if (bytes == 0) return kInvalidValue;
  const Block made = take_pages(bytes, -1);
  if (made.pages == nullptr) return DriverApi::kOutOfMemory;
  *memory = reinterpret_cast<void*>(note(made));
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
