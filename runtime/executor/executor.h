// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "runtime/executor/arena.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/peer_link.h"
#include "runtime/executor/ready_queue.h"
#include "runtime/executor/task_runner.h"
#include "runtime/executor/timeline.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

struct ExecutorOptions {
  Rank rank = 0;
  int ranks = 1;
  float scale = 1;  ///< of the last merge: 1 / ranks for the average
  Bytes fusion_bytes = 64_KiB;
  std::uint64_t seed = 0;
  int streams = 0;  ///< threads beside the progress thread that run large tasks; 0: it runs them itself
  Timeline* timeline = nullptr;
};

/// Seconds and counts since the start; read while the executor runs.
struct ExecutorCounters {
  std::atomic<double> seconds[5] = {};  ///< by SpanKind: encode, decode, merge, send, recv
  std::atomic<double> idle_s{0};
  std::atomic<std::uint64_t> tasks{0};
  std::atomic<std::uint64_t> allocations{0};  ///< of the progress thread and the streams
};

/// Carries out task graphs: this rank's, over one transport, on one device.
///
/// One progress thread owns everything here: graphs' progress, arena, links, transport. Others post to it, and
/// holding the mutex for a push is the longest a caller waits. The most urgent ready task goes first, on each
/// resource by itself. The first failure ends everything: the transport is closed, so that nobody writes to a
/// caller's memory any more, then the waiters learn why.
class Executor final : private TransportClient {
 public:
  struct Start {
    GradientRun* run = nullptr;
    std::uint32_t step = 0;
    View data;
  };

  Executor(const ExecutorOptions& options, std::unique_ptr<Transport> transport, Device& device);
  ~Executor() override;  ///< as stop() at once

  std::string address() const { return transport_->address(); }
  /// Connects and starts the progress thread. `on_peer_failure` runs on it when a peer's endpoint broke, with
  /// what the transport knows; the caller decides what the job's failure is and calls fail().
  Status connect(std::span<const std::string> addresses, std::function<void(Rank, const Status&)> on_failure);

  /// Takes gradients in: memory for their messages, room in the queues. Returns when that is done.
  /// Unavailable: no memory.
  Status adopt(std::vector<std::unique_ptr<GradientRun>> runs);

  /// Starts steps of gradients that are not under way. Any thread.
  void submit(std::span<const Start> starts);

  /// Waits until `run` has completed `step`. Timeout says what is missing. Any thread.
  Status wait(GradientRun& run, std::uint32_t step, Clock::time_point deadline);
  /// Waits until nothing is under way.
  Status wait_all(Clock::time_point deadline);
  bool idle() const { return active_.load() == 0; }

  /// A peer said goodbye. What it sent before still arrives; when nothing has arrived for kLastWords and there
  /// is still something to wait for, that is a failure of the peer, and `why` says it left. Any thread.
  void peer_left(Rank peer, const Status& why);

  /// Ends everything with this cause; the first call counts. Any thread.
  void fail(Status cause);
  Status failure() const;

  /// Closes the transport by the deadline and ends the threads.
  void stop(Clock::time_point deadline);

  const ExecutorCounters& counters() const { return counters_; }
  TransportStats transport_stats() const;
  std::string transport_description() const { return transport_->description(); }

 private:
  struct StreamSlot;

  // TransportClient, on the progress thread.
  Placement place(Rank from, const Message& message) override;
  void received(Rank from, const Message& message, Status status) override;
  void sent(std::uint64_t cookie, Status status) override;
  void failed(Rank peer, Status status) override;

  // The progress thread.
  void progress_loop();
  bool take_commands();
  bool take_outcomes();
  bool run_ready_tasks();
  bool flush_links();
  void flush(Rank peer, PeerLink& link);
  void sleep();
  void announce();
  void shut_down_failed();
  void check_leavers();
  Status make_room(std::vector<std::unique_ptr<GradientRun>>& runs);
  void begin(const Start& start);
  void make_ready(GradientRun& run, TaskId task);
  void prepare(GradientRun& run, TaskId task);
  bool dispatch(const ReadyTask& ready);
  void finish(GradientRun& run, TaskId task, TaskOutcome outcome, Clock::time_point from, std::uint32_t lane);
  void complete(GradientRun& run, TaskId task);
  void release(GradientRun& run, BufferId buffer);
  void finish_gradient(GradientRun& run);
  GradientRun* find_run(std::uint64_t key) const;
  void give_memory(GradientRun& run, BufferId buffer);
  Outgoing outgoing(const ReadyTask& ready) const;
  void record(SpanKind kind, GradientRun& run, MessageId id, Rank peer, Bytes bytes, std::uint32_t lane,
              Clock::time_point from);
  std::string missing(const GradientRun& run) const;
  static void run_on_stream(void* context, std::uint64_t slot);

  const ExecutorOptions options_;
  std::unique_ptr<Transport> transport_;
  Device& device_;
  std::function<void(Rank, const Status&)> on_peer_failure_;

  // The progress thread's.
  Arena arena_;
  std::vector<std::unique_ptr<GradientRun>> runs_;
  std::unordered_map<std::uint64_t, GradientRun*> by_key_;
  std::vector<PeerLink> links_;
  ReadyQueue compute_;
  Scratch scratch_;
  std::vector<Outgoing> fused_;
  std::uint64_t arrivals_ = 0;
  Clock::time_point last_arrival_;
  std::vector<std::pair<Rank, Status>> left_;
  bool announce_ = false;
  std::vector<Start> starting_;

  // Streams: slots are taken and freed by the progress thread, finished ones listed under outcome_mutex_.
  std::vector<std::unique_ptr<StreamSlot>> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::mutex outcome_mutex_;
  std::vector<std::uint32_t> finished_;
  std::vector<std::uint32_t> taken_outcomes_;

  // Posted by others.
  mutable std::mutex post_mutex_;
  std::vector<Start> posted_;
  std::vector<std::function<void()>> calls_;  ///< rare: adopt, questions
  std::atomic<bool> stopping_{false};
  Clock::time_point stop_deadline_;

  // What waiters see.
  mutable std::mutex wait_mutex_;
  std::condition_variable changed_;
  std::atomic<int> active_{0};
  Status failure_;  ///< under wait_mutex_
  std::atomic<bool> failing_{false};
  bool announced_failure_ = false;  ///< under wait_mutex_: memory is the callers' again
  TransportStats last_stats_;       ///< under wait_mutex_
  ExecutorCounters counters_;

  std::vector<std::unique_ptr<Stream>> streams_;
  std::thread progress_;
};

}  // namespace casync::runtime
