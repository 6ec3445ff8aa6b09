// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/wire/fd.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

namespace casync::runtime {
namespace {

std::mutex& list_mutex() {
  static std::mutex* const mutex = new std::mutex;  // outlives every static that may still close something
  return *mutex;
}
std::atomic<unsigned> generation{0};

}  // namespace

/// An intrusive list: the child of a fork may walk it without allocating.
struct OpenFds {
  static inline Fd* first = nullptr;

  static void link(Fd* fd) {
    fd->next_ = first;
    fd->previous_ = nullptr;
    if (first != nullptr) first->previous_ = fd;
    first = fd;
  }

  static void unlink(Fd* fd) {
    (fd->previous_ != nullptr ? fd->previous_->next_ : first) = fd->next_;
    if (fd->next_ != nullptr) fd->next_->previous_ = fd->previous_;
    fd->next_ = fd->previous_ = nullptr;
  }

  // Held across the fork, so that the child finds the list whole.
  static void prepare() { list_mutex().lock(); }
  static void in_parent() { list_mutex().unlock(); }
  static void in_child() {
    while (first != nullptr) {
      Fd* fd = first;
      unlink(fd);
      ::close(fd->number_);
      fd->number_ = -1;
    }
    generation.fetch_add(1, std::memory_order_relaxed);
    list_mutex().unlock();
  }
};

Fd::Fd(int number) : number_(number) {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(OpenFds::prepare, OpenFds::in_parent, OpenFds::in_child); });
  if (number_ < 0) return;
  const std::lock_guard lock(list_mutex());
  OpenFds::link(this);
}

Fd::Fd(Fd&& other) noexcept { *this = std::move(other); }

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this == &other) return *this;
  reset();
  const std::lock_guard lock(list_mutex());
  if (other.number_ < 0) return *this;
  OpenFds::unlink(&other);
  number_ = other.number_;
  other.number_ = -1;
  OpenFds::link(this);
  return *this;
}

void Fd::reset() {
  const std::lock_guard lock(list_mutex());
  if (number_ < 0) return;
  OpenFds::unlink(this);
  ::close(number_);
  number_ = -1;
}

unsigned fork_generation() { return generation.load(std::memory_order_relaxed); }

}  // namespace casync::runtime
