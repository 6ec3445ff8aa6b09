// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <signal.h>

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/status.h"

namespace casync {

/// Starts a thread of this library: named (the kernel keeps 15 characters), and with all signals blocked, because
/// signals are the program's and its handlers run on its threads. `function` lets no exception out.
/// Unavailable: the system has no thread left, and its reason.
template <class Function>
Result<std::thread> start_thread(const std::string& name, Function function) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // a new thread begins with its maker's mask
  std::thread thread;
  Status status;
  try {
    thread = std::thread(std::move(function));
    pthread_setname_np(thread.native_handle(), name.substr(0, 15).c_str());
  } catch (const std::system_error& error) {
    status = unavailable("cannot start the thread " + name + ": " + error.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!status) return status;
  return thread;
}

}  // namespace casync
