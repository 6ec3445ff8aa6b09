// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/units.h"
#include "base/view.h"
#include "runtime/device/device.h"
#include "runtime/executor/waiters.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

class GradientRun;

/// A step of a gradient that is to begin.
struct GradientStart {
  GradientRun* run = nullptr;
  std::uint32_t step = 0;
  View data;
  DeviceView device_data = {};     ///< instead of `data`, on a device
  const Event* ready = nullptr;    ///< as RunOnDevice::ready
  GradientRun* instead = nullptr;  ///< a RelatedRuns::gossip() that carries this step; null: `run`, or its warm-up
};

/// Steps that begin, and calls, which threads of the program leave for the progress thread. A caller waits here for no
/// longer than another one's push. Any thread, unless a comment says otherwise.
class Requests {
 public:
  using Call = std::function<void()>;

  /// Borrows both. The transport is woken by what is left here, and not touched after end().
  Requests(Transport& transport, Waiters& waiters) : transport_(transport), waiters_(waiters) {}

  /// Returns false after end(): the call is dropped.
  bool post(Call call);
  void wake();
  /// The answer of the progress thread; nullopt if it has none after `patience`, or has ended.
  template <class Answer>
  std::optional<Answer> ask(std::function<Answer()> question, Seconds patience) {
    // Shared: the progress thread may come to it when nobody waits any more. Dropped unanswered, the promise breaks.
    auto answer = std::make_shared<std::promise<Answer>>();
    std::future<Answer> future = answer->get_future();
    if (!post([answer = std::move(answer), question = std::move(question)] { answer->set_value(question()); })) {
      return {};
    }
    if (future.wait_for(patience) != std::future_status::ready) return {};
    try {
      return future.get();
    } catch (const std::exception&) {  // the progress thread has met it, too
      return {};
    }
  }

  /// Leaves steps, and counts them as under way. After end() whoever waits for them hears of the failure.
  void submit(std::span<const GradientStart> starts);
  /// Counts so many gradients as under way.
  void hold(int gradients);
  /// Leaves steps that are counted already.
  void start_held(std::span<const GradientStart> starts);

  /// Makes room for so many steps at once, so that a steady step's push never allocates. The progress thread's.
  void reserve(std::size_t starts);
  /// Takes all that has been left. The progress thread's, which clears `starts` and gives it back each time.
  std::vector<Call> take(std::vector<GradientStart>& starts);
  /// Nothing is taken any more. Returns the last calls. The progress thread's.
  std::vector<Call> end();

 private:
  Transport& transport_;
  Waiters& waiters_;
  std::mutex mutex_;
  std::vector<GradientStart> starts_;
  std::vector<Call> calls_;  ///< rare: new gradients, questions
  bool ended_ = false;
};

}  // namespace casync::runtime
