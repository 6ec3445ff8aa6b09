// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "runtime/control/wire/fd.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// Called once a submission is done, with OK, or has failed for good, with the session's failure; with Internal if
/// there was no memory to learn it. Lets no exception out.
using Completion = std::function<void(Handle handle, const Status& status)>;

/// Calls each submission's completion exactly once, on a thread of its own that starts with the first one. Completions
/// are called as gradients are done, and those of gradients that are found done together in the order of add(). A
/// completion may use the session and add(), but must not wait for other completions.
///
/// Threads: any. In a forked child nothing is called and the destructor only lets go.
/// Errors:  an exception on the thread, such as a lack of memory, ends the job; completions are called all the same.
/// Waits:   the session's own limit ends the wait for a gradient. A completion that does not return is the program's,
///          and nothing ends it: drain(), catch_up() and close() give up at their deadlines.
class Completions {
 public:
  /// Borrows `session`, which outlives this.
  explicit Completions(Session& session) : session_(session) {}
  /// As close(), without a deadline: an object whose close() has given up is not destroyed.
  ~Completions();
  Completions(const Completions&) = delete;
  Completions& operator=(const Completions&) = delete;

  /// Makes room for `count` more and starts the thread, so that add() cannot fail. Unavailable: no thread left.
  Status prepare(std::size_t count);
  /// So many that a prepare() has counted do not come.
  void forget(std::size_t count);
  /// Takes over the completion of a submission. After a prepare() that has counted it.
  void add(Handle handle, Completion completion);
  /// The number of completions added so far.
  std::uint64_t added() const;
  /// Waits until the first `count` of them have returned, and until the deadline at most. From a completion it returns
  /// at once. Timeout: says how many of all have not.
  Status drain(std::uint64_t count, Clock::time_point deadline);
  /// The same for all that have been added so far.
  Status drain(Clock::time_point deadline) { return drain(added(), deadline); }
  /// Waits until those have returned whose gradients are done by now, and no longer for any that is under way: a state
  /// that the session loads then takes no handle from this thread. From a completion it returns at once. Timeout: as
  /// drain().
  Status catch_up(Clock::time_point deadline);
  /// Ends the thread once nothing is pending; the session is closed or has failed by then, or nothing is under way.
  /// Returns false at the deadline: the thread still uses this object, the session and the completions' memory, and
  /// ends with the completion that it is in. A later call looks again.
  bool close(Clock::time_point deadline);

 private:
  struct Pending {
    Handle handle{};
    std::uint64_t number = 0;  ///< in the order of add()
    Completion completion;
  };

  void run();
  void run_until_closed();
  bool take_added();
  void call(const Status& status) noexcept;
  void abort(const std::exception& error) noexcept;
  void fail_all() noexcept;
  void note_taken() noexcept;
  std::uint64_t returned() const;
  bool is_called_here() const;
  Status late() const;

  Session& session_;
  const unsigned generation_ = fork_generation();
  std::atomic<bool> interrupted_{false};  ///< added_ or closing_ has changed

  mutable std::mutex mutex_;  ///< for the fields below
  std::unique_ptr<std::thread> thread_;
  std::unique_ptr<std::condition_variable> changed_ = std::make_unique<std::condition_variable>();
  std::vector<Pending> added_;
  std::size_t promised_ = 0;                  ///< prepared for and not yet added
  std::size_t expected_ = 0;                  ///< added and not yet called
  std::uint64_t count_ = 0;                   ///< of all that were added
  std::optional<std::uint64_t> first_taken_;  ///< the first that the thread has, and that has not returned
  std::uint64_t looks_asked_ = 0;             ///< by catch_up()
  std::uint64_t looks_done_ = 0;              ///< so many of them have found no gradient done that was not told
  bool closing_ = false;
  bool ended_ = false;  ///< the thread touches nothing any more

  // The thread's own.
  const Status ok_ = Status::ok();
  const Status no_memory_ = internal_error("the thread of completions met exceptions: most likely no memory is left");
  std::vector<Pending> pending_;
  std::uint64_t looks_ = 0;  ///< that were asked for until the wait under way
  std::vector<Handle> handles_;
  std::vector<Handle> done_;
};

}  // namespace casync::runtime
