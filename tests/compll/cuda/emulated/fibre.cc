// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/emulated/fibre.h"

#include <ucontext.h>

#include <cstdint>
#include <cstring>

namespace casync::compll::emulated {
namespace {

constexpr std::size_t kStackBytes = 128 * 1024;

}  // namespace

#if COMPLL_FIBRES_ARE_INLINE

/// Prepares the first change to the fibre: the function begins as if it had been called from nowhere.
void Fibre::begin(void (*function)()) {
  stack_ = std::make_unique_for_overwrite<char[]>(kStackBytes);
  const auto end = reinterpret_cast<std::uintptr_t>(stack_.get() + kStackBytes);
  auto* const top = stack_.get() + kStackBytes - end % 16 - sizeof(void*);
  std::memset(top, 0, sizeof(void*));
  inside_ = {nullptr, top, reinterpret_cast<void*>(function)};
}

#else

namespace {

/// Not in the function that keeps a place: the compiler knows of a way back there from calls only.
[[gnu::noinline]] void go_on_at(void** place) { __builtin_longjmp(place, 1); }

}  // namespace

// GCC's own jumps keep no signal mask: those of the C library take many times as long. They are in a file of their own,
// because the compiler does not see that others run in between.
void Fibre::enter(void (*function)()) {
  if (__builtin_setjmp(outside_.data()) != 0) return;
  if (stack_) go_on_at(inside_.data());
  begin(function);
}

void Fibre::leave() {
  if (__builtin_setjmp(inside_.data()) == 0) go_on_at(outside_.data());
}

void Fibre::begin(void (*function)()) {
  stack_ = std::make_unique_for_overwrite<char[]>(kStackBytes);
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = stack_.get();
  context.uc_stack.ss_size = kStackBytes;
  context.uc_link = nullptr;
  makecontext(&context, function, 0);
  setcontext(&context);
}

#endif

}  // namespace casync::compll::emulated
