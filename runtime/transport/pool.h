// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

namespace casync::runtime {

/// Objects of one kind used again and again: grows to the largest number in use at once, then allocates no more.
/// What is taken still holds what its last user left in it.
template <class T>
class Pool {
 public:
  T* take() {
    if (free_.empty()) {
      add();
      return &all_.back();
    }
    T* object = free_.back();
    free_.pop_back();
    return object;
  }
  void give(T* object) { free_.push_back(object); }
  /// The next `count` calls of take() allocate nothing.
  void make_ready(std::size_t count = 1) {
    while (free_.size() < count) {
      add();
      free_.push_back(&all_.back());
    }
  }
  /// Calls f(T&) for every object, in use or not.
  template <class F>
  void for_each(F f) {
    for (T& object : all_) f(object);
  }
  std::size_t in_use() const { return all_.size() - free_.size(); }

 private:
  void add() {
    free_.reserve(all_.size() + 1);  // give() never allocates
    all_.emplace_back();
  }

  std::deque<T> all_;  // addresses stay
  std::vector<T*> free_;
};

}  // namespace casync::runtime
