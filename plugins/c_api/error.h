// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <new>
#include <string>

#include "base/status.h"
#include "plugins/c_api/casync.h"

namespace casync::c_api {

/// Makes `status` this thread's last error (none, when it is OK) and returns its number. Needs no memory when
/// there is none.
casync_status finish(const Status& status) noexcept;
casync_status out_of_memory() noexcept;

/// Runs the body of an entry, which returns a Status. No exception gets past here.
template <class Body>
casync_status guarded(Body&& body) noexcept {
  try {
    return finish(body());
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::exception& error) {
    try {
      return finish(internal_error(std::string("unexpected exception: ") + error.what()));
    } catch (...) {
      return out_of_memory();
    }
  } catch (...) {
    return finish(Status(StatusCode::kInternal, "unknown"));  // short enough to need no memory
  }
}

/// Runs the body of an entry that frees something, and has no failure to tell: this thread's last error stays. Python
/// frees objects at moments of its own, also between a call that has failed and the question why.
template <class Body>
void guarded_free(Body&& body) noexcept {
  try {
    body();
  } catch (...) {  // without memory for a line of the log
  }
}

/// InvalidArgument, "`name` is NULL", for a pointer that has to point somewhere.
inline Status need(const void* pointer, const char* name) {
  return pointer != nullptr ? Status::ok() : invalid_argument(std::string("`") + name + "` is NULL");
}

/// The same for an array: it may be NULL when it has no element.
inline Status need_array(const void* pointer, std::size_t count, const char* name) {
  return count == 0 ? Status::ok() : need(pointer, name);
}

}  // namespace casync::c_api
