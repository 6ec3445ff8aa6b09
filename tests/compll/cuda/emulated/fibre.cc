// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/emulated/fibre.h"

#include <ucontext.h>

namespace casync::compll::emulated {
namespace {

constexpr std::size_t kStackBytes = 128 * 1024;

/// Not in the function that keeps a place: the compiler knows of a way back there from calls only.
[[gnu::noinline]] void go_on_at(void** place) { __builtin_longjmp(place, 1); }

}  // namespace

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

}  // namespace casync::compll::emulated
