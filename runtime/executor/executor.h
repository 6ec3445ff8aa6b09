// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "base/thread.h"
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

/// What the executor tells its owner, on the progress thread. The owner decides what the whole job's failure is, and
/// calls fail() with that.
struct ExecutorEvents {
  /// A peer's endpoint broke, with what the transport knows; nothing may be under way that needs it.
  std::function<void(Rank, const Status&)> peer_broke;
  /// No step can end here any more, and nobody else may know: a payload that is not right, a peer that left in the
  /// middle, our own fault.
  std::function<void(const Status&)> failed;
  /// A peer has loaded a state, and submits nothing before all ranks have compared their steps once more, for the
  /// `comparisons`-th time.
  std::function<void(std::uint64_t comparisons)> peer_compares;
};

/// Seconds and counts since the start; read while the executor runs.
struct ExecutorCounters {
  std::atomic<double> seconds[5] = {};  ///< by SpanKind: encode, decode, merge, send, recv
  std::atomic<double> idle_s{0};
  std::atomic<double> codec_processor_s{0};  ///< processor time of encode, decode, merge; with a timeline, else 0
  std::atomic<std::uint64_t> tasks{0};
  std::atomic<std::uint64_t> allocations{0};  ///< of the progress thread and the streams
};

/// Carries out task graphs: this rank's, over one transport, on one device.
///
/// One progress thread owns everything here: graphs' progress, arena, links, transport. Others post to it, and
/// holding the mutex for a push is the longest a caller waits. On each resource (a peer's link, the streams, the
/// progress thread itself) the most urgent ready task goes first: by priority, then what is further along its way,
/// then what became ready first. What a link or a stream has begun is not called back.
///
/// The first failure ends everything: streams come to rest and the transport is closed, so that nobody writes to a
/// caller's memory any more, then the waiters learn why. Closing ends it in the same order.
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
  /// Connects and starts the threads. Unavailable: no thread left; else as Transport::connect.
  Status connect(std::span<const std::string> addresses, ExecutorEvents events);

  /// Takes gradients in: memory for their messages, room in the queues. Returns when that is done.
  /// Unavailable: no memory. After a failure or stop(): that failure.
  Status adopt(std::vector<std::unique_ptr<GradientRun>> runs);

  /// Starts steps of gradients that are not under way. Any thread.
  void submit(std::span<const Start> starts);

  /// Waits until `run` has completed `step`. Timeout says what is missing. Any thread.
  Status wait(GradientRun& run, std::uint32_t step, Clock::time_point deadline);
  /// Whether what `run` lacks is another rank's contribution, rather than what a third rank makes of several: who is
  /// late is known where a contribution is missing. Any thread.
  bool knows_who_is_late(const GradientRun& run);
  /// Waits until nothing is under way.
  Status wait_all(Clock::time_point deadline);
  /// How many gradients are under way.
  int active() const { return active_.load(); }
  bool idle() const { return active() == 0; }

  /// This rank's gradients have just been set to another step: until the next end_comparison() messages are put off,
  /// and the peers are told. A peer that waits for this rank's part of a step instead of comparing is told, after
  /// kLastWords without a message, that this cannot be. Any thread, while nothing is under way.
  void want_comparison();
  /// All ranks have compared their declarations and steps.
  void end_comparison();
  /// How often they have.
  std::uint64_t comparisons() const { return comparisons_.load(); }

  /// A peer said goodbye. What it sent before still arrives; when nothing has arrived for kLastWords and there
  /// is still something to wait for, that is a failure, and `why` says that the peer left. Any thread.
  void peer_left(const Status& why);

  /// Ends everything with this cause; the first call counts. Any thread.
  void fail(Status cause);
  bool failing() const { return failing_.load(); }
  /// OK while there is none; Aborted once closed.
  Status failure() const;
  /// After fail(): waits until the callers' memory is theirs again, and returns the failure. Not on a thread that
  /// the executor or the group calls back on.
  Status wait_for_end(Clock::time_point deadline) const;

  /// Closes the transport by the deadline and ends the threads. Not from two threads at once.
  void stop(Clock::time_point deadline);

  const ExecutorCounters& counters() const { return counters_; }
  TransportStats transport_stats() const;
  /// Processor seconds of the progress thread and the streams so far; only differences count. Not after stop().
  double processor_seconds() const;
  const std::string& transport_description() const { return description_; }

 private:
  struct StreamSlot;

  // TransportClient, on the progress thread.
  Placement place(Rank from, const Message& message) override;
  void received(Rank from, const Message& message, Status status) override;
  void sent(std::uint64_t cookie, Status status) override;
  void failed(Rank peer, Status status) override;

  // The progress thread.
  void progress_loop();
  bool round();
  bool take_commands();
  bool take_outcomes();
  bool run_instant_tasks();
  bool run_ready_tasks();
  bool flush_links();
  void flush(Rank peer, PeerLink& link, Clock::time_point now);
  void sleep();
  void announce();
  void report(Status cause);
  void shut_down();
  void answer_the_last();
  void count_allocations();
  void check_leavers();
  void send_notices(std::uint64_t count);
  void take_notice(Rank from, const Message& message);
  bool post(std::function<void()> call);
  void wake();
  Status make_room(std::vector<std::unique_ptr<GradientRun>>& runs);
  void prepare_threads(std::span<GradientRun* const> runs);
  void begin(const Start& start);
  void make_ready(GradientRun& run, TaskId task);
  void prepare(GradientRun& run, TaskId task);
  TaskOutcome compute(GradientRun& run, TaskId task, Scratch& scratch);
  bool dispatch(const ReadyTask& ready);
  Clock::time_point finish(GradientRun& run, TaskId task, TaskOutcome outcome, Clock::time_point from,
                           std::uint32_t lane);
  BufferId take_over(GradientRun& run, TaskId task, const TaskOutcome& outcome);
  void complete(GradientRun& run, TaskId task);
  void release(GradientRun& run, BufferId buffer);
  void finish_gradient(GradientRun& run);
  void finish_inner(const GradientRun& run);
  void make_turn_ready(GradientRun& run);
  Clock::time_point finish_turn(GradientRun& run, const TaskOutcome& outcome, Clock::time_point from,
                                std::uint32_t lane);
  GradientRun* find_run(std::uint64_t key) const;
  void give_memory(GradientRun& run, BufferId buffer);
  Outgoing outgoing(const ReadyTask& ready) const;
  Clock::time_point record(SpanKind kind, GradientRun& run, MessageId id, Rank peer, Bytes bytes, std::uint32_t lane,
                           Clock::time_point from);
  bool lacks_contribution(const GradientRun& run) const;
  std::string missing(const GradientRun& run) const;
  static void run_on_stream(void* context, std::uint64_t at);

  const ExecutorOptions options_;
  std::unique_ptr<Transport> transport_;
  Device& device_;
  ExecutorEvents events_;
  std::string description_;  ///< of the transport, which may be closed when somebody asks

  // The progress thread's.
  Arena arena_;
  std::vector<std::unique_ptr<GradientRun>> runs_;
  std::vector<GradientRun*> by_index_;  ///< those and their exchanges
  std::unordered_map<std::uint64_t, GradientRun*> by_key_;
  std::vector<PeerLink> links_;
  ReadyQueue compute_;
  std::vector<ReadyTask> instant_;  ///< tasks that move no byte
  Scratch scratch_;
  std::vector<Outgoing> fused_;
  std::uint64_t arrivals_ = 0;
  Clock::time_point last_arrival_;
  std::vector<Status> left_;         ///< why each peer that said goodbye is missing
  Rank comparing_ = -1;              ///< the first peer to wait for a comparison, and
  std::uint64_t comparing_for_ = 0;  ///< for which: over once comparisons() is as many
  bool announce_ = false;
  std::vector<Start> starting_;
  std::uint64_t allocations_seen_ = 0;

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
  bool ended_ = false;                        ///< nobody takes what is posted, and the transport is left alone
  std::atomic<bool> stopping_{false};
  Clock::time_point stop_deadline_;             ///< written before stopping_
  std::atomic<bool> comparison_wanted_{false};  ///< by this rank
  std::atomic<std::uint64_t> comparisons_{0};

  // What waiters see.
  mutable std::mutex wait_mutex_;
  mutable std::condition_variable changed_;
  std::atomic<int> active_{0};
  Status failure_;  ///< under wait_mutex_
  std::atomic<bool> failing_{false};
  bool announced_failure_ = false;  ///< under wait_mutex_: memory is the callers' again
  TransportStats last_stats_;       ///< under wait_mutex_
  ExecutorCounters counters_;

  std::vector<std::unique_ptr<Stream>> streams_;
  std::thread progress_;
  std::optional<ThreadClock> progress_clock_;  ///< of progress_
};

}  // namespace casync::runtime
