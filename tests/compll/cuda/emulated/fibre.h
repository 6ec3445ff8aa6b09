// SPDX-License-Identifier: Apache-2.0
//
// A stack of its own for a function, which leaves it while it waits and goes on there later.
#pragma once

#include <array>
#include <memory>

// The address sanitizer has to know of each change of stacks: it knows of the compiler's own jumps.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define COMPLL_FIBRES_ARE_INLINE 1
#else
#define COMPLL_FIBRES_ARE_INLINE 0
#endif

namespace casync::compll::emulated {

class Fibre {
 public:
  /// Runs the function on the fibre, first from its begin and then from where it has left it, until it leaves it again.
  /// It is the same function each time, and never returns.
  void enter(void (*function)());
  /// Goes back to where the fibre was entered, and returns when it is entered again. Called on the fibre.
  void leave();

 private:
  /// The address of code and stack, and what the compiler keeps with them.
  using Place = std::array<void*, 5>;

  void begin(void (*function)());
#if COMPLL_FIBRES_ARE_INLINE
  static void change(Place& here, Place& there);
#endif

  Place inside_{}, outside_{};
  std::unique_ptr<char[]> stack_;
};

#if COMPLL_FIBRES_ARE_INLINE
/// Keeps this place, and goes on at the other one until somebody changes back. A processor predicts where a function
/// returns to by its calls so far. To enter a fibre is therefore no call: then the returns of one fibre match the calls
/// of the previous one, which wait in the same functions, and a change takes a fifth of the time.
[[gnu::always_inline]] inline void Fibre::change(Place& here, Place& there) {
  void **from = here.data(), **to = there.data();
  asm volatile(
      "movq %%rbp, 0(%0)\n\t"
      "movq %%rsp, 8(%0)\n\t"
      "leaq 1f(%%rip), %%rax\n\t"
      "movq %%rax, 16(%0)\n\t"
      "movq 0(%1), %%rbp\n\t"
      "movq 8(%1), %%rsp\n\t"
      "jmpq *16(%1)\n"
      "1:\n\t"
      : "+D"(from), "+S"(to)
      :
      : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2",
        "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
        "memory", "cc");
}

inline void Fibre::enter(void (*function)()) {
  if (!stack_) begin(function);
  change(outside_, inside_);
}

inline void Fibre::leave() { change(inside_, outside_); }
#endif

}  // namespace casync::compll::emulated
