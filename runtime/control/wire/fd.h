// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace casync::runtime {

/// A file descriptor with one owner, closed with it. Threads: as an int.
/// A forked child loses it at once: CLOEXEC works at exec only, and a child that still holds a socket would keep
/// the connection of its dead parent alive for everyone else.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int number);
  Fd(Fd&& other) noexcept;
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { reset(); }

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  void reset();

 private:
  friend struct OpenFds;
  int number_ = -1;
  Fd* previous_ = nullptr;  // the list of all that are open, for the child of a fork
  Fd* next_ = nullptr;
};

/// Grows by one in each forked child: an object that remembers another value was made in another process.
unsigned fork_generation();

}  // namespace casync::runtime
