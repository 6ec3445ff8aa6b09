// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"

namespace casync::runtime {

/// Keys and values that all ranks of a job see: how rank 0 tells the others where it listens. Used at the start
/// only, by one thread.
class Store {
 public:
  virtual ~Store() = default;
  /// Replaces the key's value. InvalidArgument: the store holds no such key, or no value of this size. Unavailable: it
  /// cannot be written, and why.
  virtual Status set(const std::string& key, const std::string& value) = 0;
  /// Waits for the key, and returns its value. Timeout: it did not appear by the deadline. InvalidArgument,
  /// Unavailable: as set(), for reading.
  virtual Result<std::string> get(const std::string& key, Clock::time_point deadline) = 0;
};

/// Files in a directory that all ranks see; written aside and renamed, mode 0600.
std::unique_ptr<Store> make_file_store(std::string directory);

/// The program's own store (torch's, MPI's): two functions, called on the thread that opens the session.
struct StoreFunctions {
  std::function<Status(const std::string& key, const std::string& value)> set;
  std::function<Result<std::string>(const std::string& key, double timeout_s)> get;
};
std::unique_ptr<Store> make_callback_store(StoreFunctions functions);

}  // namespace casync::runtime
