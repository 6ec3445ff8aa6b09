// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "runtime/control/wire/fd.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// Called once a submission is done, with OK, or has failed for good, with the session's failure. Lets no exception
/// out.
using Completion = std::function<void(Handle handle, const Status& status)>;

/// Calls each submission's completion exactly once, on a thread of its own that starts with the first one. Completions
/// are called in the order in which gradients are done. A completion may use the session and add(), but must not wait
/// for other completions.
///
/// Threads: any. In a forked child nothing is called and the destructor only lets go.
class Completions {
 public:
  /// Borrows `session`, which outlives this.
  explicit Completions(Session& session) : session_(session) {}
  ~Completions();  ///< as close()
  Completions(const Completions&) = delete;
  Completions& operator=(const Completions&) = delete;

  /// Makes room for `count` more and starts the thread, so that add() cannot fail. Unavailable: no thread left.
  Status prepare(std::size_t count);
  /// Takes over the completion of a submission. After a prepare() that has counted it.
  void add(Handle handle, Completion completion);
  /// Waits until all completions added so far have returned. From a completion it returns at once.
  void drain();
  /// Ends the thread once nothing is pending; the session is closed or has failed by then, or nothing is under way.
  void close();

 private:
  struct Pending {
    Handle handle{};
    Completion completion;
  };

  void run();
  bool take_added();
  void call(const Status& status);

  Session& session_;
  const unsigned generation_ = fork_generation();
  std::unique_ptr<std::thread> thread_;
  std::atomic<bool> interrupted_{false};  ///< added_ or closing_ has changed

  std::mutex mutex_;  ///< for the fields below
  std::unique_ptr<std::condition_variable> changed_ = std::make_unique<std::condition_variable>();
  std::vector<Pending> added_;
  std::size_t expected_ = 0;  ///< added and not yet called
  bool closing_ = false;

  // The thread's own.
  std::vector<Pending> pending_;
  std::vector<Handle> handles_;
  std::vector<Handle> done_;
};

}  // namespace casync::runtime
