// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/control/group/group.h"
#include "runtime/control/rendezvous/rendezvous.h"
#include "tests/support/temporary_directory.h"

namespace casync::runtime::testing {

using Joined = Result<std::unique_ptr<Group>>;

using test::TemporaryDirectory;

/// A program's own store: a map that all threads share.
class SharedMap {
 public:
  StoreFunctions functions();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
};

/// Options of one rank for a test: quick beats, 10 s to join, on loopback.
GroupOptions quick_options(Rank rank, int ranks, Store* store);

/// Joins each rank on a thread of its own.
std::vector<Joined> join_all(const std::vector<GroupOptions>& options);

/// `ranks` ranks over one store each; the stores outlive the result.
std::vector<GroupOptions> options_of_all(int ranks, std::vector<std::unique_ptr<Store>>& stores,
                                         const std::function<std::unique_ptr<Store>()>& make_store);

/// A group of so many ranks, in threads, over a file store.
struct Ranks {
  explicit Ranks(int ranks, Seconds beat = Seconds(0.1));
  /// Runs `body` on a thread per rank and waits for all.
  void each(const std::function<void(Rank, Group&)>& body);

  const TemporaryDirectory directory = TemporaryDirectory::in_memory();
  std::vector<std::unique_ptr<Store>> stores;
  std::vector<GroupOptions> options;
  std::vector<Joined> joined;
};

/// A port that nobody has at this address of the machine, "127.0.0.1" or "::1". 0: nobody can listen there.
std::uint16_t free_port(const std::string& host);

/// Texts of all statuses, "" for those that are OK.
std::vector<std::string> texts_of(const std::vector<Joined>& joined);

}  // namespace casync::runtime::testing
