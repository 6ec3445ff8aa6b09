// SPDX-License-Identifier: Apache-2.0
//
// A stack of its own for a function, which leaves it while it waits and goes on there later.
#pragma once

#include <array>
#include <memory>

namespace casync::compll::emulated {

class Fibre {
 public:
  /// Runs the function on the fibre, first from its begin and then from where it has left it, until it leaves it again.
  /// It is the same function each time, and never returns.
  void enter(void (*function)());
  /// Goes back to where the fibre was entered, and returns when it is entered again. Called on the fibre.
  void leave();

 private:
  // GCC's own jumps keep the address of code and stack, and no signal mask: those of the C library take many times as
  // long. They are in a file of their own, because the compiler does not see that others run in between.
  using Place = std::array<void*, 5>;

  void begin(void (*function)());

  Place inside_{}, outside_{};
  std::unique_ptr<char[]> stack_;
};

}  // namespace casync::compll::emulated
