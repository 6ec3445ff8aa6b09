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
