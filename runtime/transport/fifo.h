// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace casync::runtime {

/// First in, first out, of objects that have a member `T* next`. Owns nothing and allocates nothing.
template <class T>
class Fifo {
 public:
  bool empty() const { return first_ == nullptr; }
  T* front() const { return first_; }
  void push(T* object) {
    object->next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = object;
    last_ = object;
  }
  /// Takes it out from wherever it is; nothing happens when it is not in.
  void remove(T* object) {
    T* before = nullptr;
    for (T* at = first_; at != nullptr; before = at, at = at->next) {
      if (at != object) continue;
      (before == nullptr ? first_ : before->next) = at->next;
      if (last_ == at) last_ = before;
      return;
    }
  }
  T* pop() {
    T* object = first_;
    first_ = object->next;
    return object;
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
};

}  // namespace casync::runtime
