// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "base/thread.h"
#include "runtime/executor/arena.h"
#include "runtime/executor/asynchronous_ranks.h"
#include "runtime/executor/bundles.h"
#include "runtime/executor/device_rounds.h"
#include "runtime/executor/device_tasks.h"
#include "runtime/executor/executor_options.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/links.h"
#include "runtime/executor/ready_queue.h"
#include "runtime/executor/requests.h"
#include "runtime/executor/stall_watch.h"
#include "runtime/executor/streams.h"
#include "runtime/executor/task_runner.h"
#include "runtime/executor/timeline.h"
#include "runtime/executor/waiters.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// Carries out task graphs: this rank's, over one transport, on one device.
///
/// One progress thread owns everything here: graphs' progress, arena, links, transport. Others post to it, and
/// holding the mutex for a push is the longest a caller waits. On each resource (a peer's link, the streams, the
/// progress thread itself) the most urgent ready task goes first: by priority, then what is further along its way,
/// then what became ready first. What a link or a stream has begun is not called back.
///
/// The first failure ends everything: streams come to rest and the transport is closed, so that nobody writes to a
/// caller's memory any more, then the waiters learn why. Closing ends it in the same order.
class Executor final : private TransportClient, private AsynchronousRanks::Host, private Bundles::Host {
 public:
  using Start = GradientStart;

  Executor(const ExecutorOptions& options, std::unique_ptr<Transport> transport, Device& device);
  ~Executor() override;  ///< as stop() at once; waits for tasks without a limit

  std::string address() const { return transport_->address(); }
  /// Gradients go through rounds over the transport that `open` returns, and not over this executor's, which keeps the
  /// messages with names. On a device other than the host's, before connect(). `bucket_bytes`: as DeviceRounds. Errors:
  /// those of `open`; Unavailable: the device refuses.
  Status open_rounds(Bytes bucket_bytes, const DeviceRounds::Open& open);
  /// Messages go by a credit of so many bytes for each port (LinkCredit) instead of by LinkPace. Before connect(), on
  /// all ranks, and not with a coordinator.
  void set_credit(Bytes bytes, const Topology& topology) { links_.set_credit(bytes, topology); }
  /// Connects and starts the threads. Unavailable: no thread left; else as Transport::connect.
  Status connect(std::span<const std::string> addresses, ExecutorEvents events);

  /// Takes gradients in: memory for their messages, room in the queues. Returns when that is done.
  /// Unavailable: no memory. After a failure or stop(): that failure.
  Status adopt(std::vector<std::unique_ptr<GradientRun>> runs);

  /// The same on the progress thread.
  Status take_in(std::vector<std::unique_ptr<GradientRun>> runs);

  /// Runs `call` on the progress thread, soon; never after a failure or stop(). An exception in it ends everything. Any
  /// thread.
  void call(std::function<void()> call);

  /// Starts steps of gradients that are not under way. Any thread.
  void submit(std::span<const Start> starts) { requests_.submit(starts); }
  /// Counts so many gradients as under way whose runs do not exist yet. Any thread.
  void hold(int gradients) { requests_.hold(gradients); }
  /// Starts gradients that are already counted.
  void start_held(std::span<const Start> starts) { requests_.start_held(starts); }

  /// Waits until `run` has completed `step`. Timeout says what is missing. Any thread.
  Status wait(GradientRun& run, std::uint32_t step, Clock::time_point deadline);
  struct Awaited {
    GradientRun* run = nullptr;  ///< null: never completes
    std::uint32_t step = 0;
  };
  /// Waits until one of these has completed, or until `interrupted` returns true, which is asked after nudge() and as
  /// in wait_until(). Timeout otherwise. Any thread.
  Status wait_any(std::span<const Awaited> awaited, Clock::time_point deadline,
                  const std::function<bool()>& interrupted);
  /// Lets every wait_any() look at its `interrupted` again. Any thread.
  void nudge() { waiters_.nudge(); }
  /// Returns true if `run` waits for another rank's contribution, and not only for a result that a third rank makes of
  /// several: a missing contribution shows which rank is late. Any thread.
  bool knows_who_is_late(const GradientRun& run);
  /// Waits until `ready` returns true; it is asked after each round of the progress thread that finished a gradient or
  /// took one in. Timeout; the failure. Any thread.
  Status wait_until(const std::function<bool()>& ready, Clock::time_point deadline) const;
  /// Waits until nothing is under way.
  Status wait_all(Clock::time_point deadline);
  /// The number of gradients under way.
  int active() const { return waiters_.active(); }
  bool idle() const { return active() == 0; }

  /// This rank's gradients, which had completed all steps below `steps`, have just been set to another step: until the
  /// next end_comparison() messages are put off, and the peers are told. A peer that needs more of the steps that were
  /// is told that this cannot be. Any thread, while nothing is under way.
  void want_comparison(std::uint32_t steps);
  /// All ranks have compared their declarations and steps.
  void end_comparison();
  /// The number of comparisons so far.
  std::uint64_t comparisons() const { return comparisons_.load(); }

  /// A peer said goodbye. What it has completed still arrives, however slowly. A gradient that it has not completed is
  /// a failure at once, when it is under way or begins: leaver.why, and the gradient's name. Any thread.
  void peer_left(Leaver leaver);

  /// Waits until everything that was sent has arrived: nobody needs this rank any more. While nothing is under way;
  /// nothing may be submitted afterwards. Timeout: not by the deadline. After a failure: that failure. Any thread.
  Status settle(Clock::time_point deadline);

  /// Ends the steps of an asynchronous rank, so many; it answers the others until all have ended theirs.
  /// Timeout: nothing came for `patience`, with the ranks that have not. After a failure: that failure. Any thread,
  /// while nothing is under way; nothing may be submitted afterwards.
  Status serve_others(std::uint32_t steps, Seconds patience);

  /// Ends everything with this cause; the first call counts. Any thread.
  void fail(Status cause);
  bool failing() const { return waiters_.failing(); }
  /// OK while there is none; Aborted once closed.
  Status failure() const { return waiters_.failure(); }
  /// After fail(): waits until the callers' memory is theirs again, and returns the failure, which says so if it is not
  /// theirs by the deadline: a task cannot be called back. Not on a thread that the executor or the group calls back
  /// on.
  Status wait_for_end(Clock::time_point deadline) const;

  /// Closes the transport by the deadline and ends the threads. Returns false if a task has not ended by `patience`:
  /// the threads still use this executor, its device and timeline, and callers' memory, and none of these may be
  /// destroyed before another stop() has returned true. The events are not called any more. Not from two threads at
  /// once.
  bool stop(Clock::time_point deadline, Clock::time_point patience);

  const ExecutorCounters& counters() const { return counters_; }
  TransportStats transport_stats() const { return waiters_.stats(); }
  /// Processor seconds of the progress thread and the streams so far; only differences count. Not after stop().
  double processor_seconds() const { return progress_clock_->seconds() + streams_.processor_seconds(); }
  const std::string& transport_description() const { return description_; }

 private:
  // TransportClient, on the progress thread.
  Placement place(Rank from, const Message& message) override;
  void received(Rank from, const Message& message, Status status) override;
  void sent(std::uint64_t cookie, Status status) override;
  void failed(Rank peer, Status status) override;

  // AsynchronousRanks::Host, on the progress thread.
  void compute_batch(GradientRun& side, TaskId task) override;
  void send_answer(Rank to, GradientRun& side, TaskId send) override;
  void give_memory(GradientRun& run, BufferId buffer) override;
  void complete(GradientRun& run, TaskId task) override;
  void finish_gradient(GradientRun& run) override;
  Clock::time_point record_task(SpanKind kind, GradientRun& side, MessageId id, Rank peer, Bytes bytes,
                                std::uint32_t lane, Clock::time_point from) override;
  void report(Status cause) override;
  void announce_soon() override { announce_ = true; }

  // Bundles::Host, on the progress thread.
  GradientRun* find_run(std::uint64_t key) const override;
  void begin(const Start& start) override;
  void make_ready(GradientRun& run, TaskId task) override;
  Placement place_whole(GradientRun& run, Rank from, const Message& message, MessageId id) override;

  // The progress thread.
  void progress_loop();
  bool round();
  bool take_commands();
  bool take_outcomes();
  Status open_device();
  void rest_device();
  bool take_device_outcomes();
  bool begin_device_tasks();
  bool run_rounds();
  void end_rounds(bool in_order);
  TransportStats stats_now() const;
  bool run_instant_tasks();
  bool run_ready_tasks();
  void sleep();
  void announce();
  void shut_down();
  void answer_the_last();
  void keep_memory();
  void count_allocations();
  void check_leavers();
  void check_comparing();
  void check_settled();
  void send_notices(std::uint64_t count, std::uint32_t steps);
  void take_notice(Rank from, const Message& message);
  void watch_for_stalls();
  void say_stall(Seconds stalled);
  void come_to_rest();
  Status make_room(std::vector<std::unique_ptr<GradientRun>>& runs);
  Status make_queues(std::span<GradientRun* const> runs);
  Placement place_payload(Rank from, const Message& message);
  void received_whole(GradientRun& run, Rank from, const Message& message, MessageId id);
  void prepare(GradientRun& run, TaskId task);
  TaskOutcome compute(GradientRun& run, TaskId task, Scratch& scratch);
  bool dispatch(const ReadyTask& ready);
  Clock::time_point finish(GradientRun& run, TaskId task, TaskOutcome outcome, Clock::time_point from,
                           std::uint32_t lane);
  static void mark_not_finite(GradientRun& run, BufferId decoded);
  BufferId take_over(GradientRun& run, TaskId task, const TaskOutcome& outcome);
  void release(GradientRun& run, BufferId buffer);
  void finish_inner(const GradientRun& run);
  void make_turn_ready(GradientRun& run);
  Clock::time_point finish_turn(GradientRun& run, const TaskOutcome& outcome, Clock::time_point from,
                                std::uint32_t lane);
  Placement place_contribution(GradientRun& run, Rank from, const Message& message);
  Outgoing outgoing(const ReadyTask& ready) const;
  Clock::time_point record(SpanKind kind, GradientRun& run, MessageId id, Rank peer, Bytes bytes, std::uint32_t lane,
                           Clock::time_point from);
  bool lacks_contribution(const GradientRun& run) const;
  std::string missing(const GradientRun& run) const;

  const ExecutorOptions options_;
  std::unique_ptr<Transport> transport_;
  Device& device_;
  ExecutorEvents events_;
  std::string description_;  ///< of the transport, which may be closed when somebody asks

  // The progress thread's.
  Arena arena_;
  std::vector<std::unique_ptr<GradientRun>> runs_;
  std::vector<GradientRun*> by_index_;  ///< those, their exchanges and their bundles
  std::unordered_map<std::uint64_t, GradientRun*> by_key_;
  Links links_;
  ReadyQueue compute_;
  std::vector<ReadyTask> instant_;  ///< tasks that move no byte
  Scratch scratch_;
  std::uint64_t arrivals_ = 0;
  std::vector<Leaver> leavers_;
  Rank comparing_ = -1;               ///< the last peer to wait for a comparison,
  std::uint64_t comparing_for_ = 0;   ///< which: over once comparisons() is as many,
  std::uint32_t comparing_from_ = 0;  ///< and the number of steps it had completed
  bool settling_ = false;
  StallWatch stalls_;
  bool announce_ = false;
  std::vector<Start> starting_;
  std::uint64_t allocations_seen_ = 0;

  std::unique_ptr<DeviceTasks> device_tasks_;  ///< null on the host; before the runs, whose codecs it has kernels of
  std::unique_ptr<DeviceRounds> rounds_;       ///< not null: instead of device_tasks_

  std::atomic<bool> stopping_{false};
  Clock::time_point stop_deadline_;             ///< written before stopping_
  std::atomic<bool> comparison_wanted_{false};  ///< by this rank
  std::atomic<std::uint64_t> comparisons_{0};

  ExecutorCounters counters_;
  Waiters waiters_;
  Requests requests_;
  Streams streams_;
  AsynchronousRanks asynchronous_;
  Bundles bundles_;
  std::thread progress_;
  std::optional<ThreadClock> progress_clock_;  ///< of progress_
};

}  // namespace casync::runtime
