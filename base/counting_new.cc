// SPDX-License-Identifier: Apache-2.0
//
// operator new that counts, for whatever links this file: a promise of "no allocation in a steady step" that
// nothing counts is worth nothing. It only counts: the memory comes from the process's own operator new, because
// what is allocated here may be freed elsewhere, and the other way round. Sanitizers look at operator new
// themselves, so there it stays as it is.
#include <dlfcn.h>

#include <cstddef>
#include <new>

#include "base/allocation_count.h"
#include "base/sanitizers.h"

#if !CASYNC_SANITIZED  // as kAllocationsAreCounted

namespace {

/// The process's function called `symbol`; in a program that links this file, the next one after ours.
template <class Function>
Function* process_function(const char* symbol, Function* ours) {
  auto* found = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, symbol));
  return found != ours && found != nullptr ? found : reinterpret_cast<Function*>(dlsym(RTLD_NEXT, symbol));
}

using New = void*(std::size_t);
using AlignedNew = void*(std::size_t, std::align_val_t);

}  // namespace

void* operator new(std::size_t size) {
  static New* const process_new = process_function<New>("_Znwm", &::operator new);
  casync::count_allocation();
  return process_new(size);
}

void* operator new[](std::size_t size) { return ::operator new(size); }

void* operator new(std::size_t size, std::align_val_t alignment) {
  static AlignedNew* const process_new = process_function<AlignedNew>("_ZnwmSt11align_val_t", &::operator new);
  casync::count_allocation();
  return process_new(size, alignment);
}

void* operator new[](std::size_t size, std::align_val_t alignment) { return ::operator new(size, alignment); }

#endif
