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
#include "runtime/device/work_queue.h"
#include "runtime/executor/arena.h"
#include "runtime/executor/device_rounds.h"
#include "runtime/executor/device_tasks.h"
#include "runtime/executor/executor_options.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/link_coordinator.h"
#include "runtime/executor/link_credit.h"
#include "runtime/executor/peer_link.h"
#include "runtime/executor/ready_queue.h"
#include "runtime/executor/task_runner.h"
#include "runtime/executor/timeline.h"
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
class Executor final : private TransportClient {
 public:
  struct Start {
    GradientRun* run = nullptr;
    std::uint32_t step = 0;
    View data;
    DeviceView device_data = {};     ///< instead of `data`, on a device
    const Event* ready = nullptr;    ///< as GradientRun::ready
    GradientRun* instead = nullptr;  ///< one of run->gossip, which carries this step; null: `run`, or its warm-up
  };

  Executor(const ExecutorOptions& options, std::unique_ptr<Transport> transport, Device& device);
  ~Executor() override;  ///< as stop() at once; waits for tasks without a limit

  std::string address() const { return transport_->address(); }
  /// Gradients go through rounds over the transport that `open` returns, and not over this executor's, which keeps the
  /// messages with names. On a device other than the host's, before connect(). `bucket_bytes`: as DeviceRounds. Errors:
  /// those of `open`; Unavailable: the device refuses.
  Status open_rounds(Bytes bucket_bytes, const DeviceRounds::Open& open);
  /// Messages go by a credit of so many bytes for each port (LinkCredit) instead of by LinkPace. Before connect(), on
  /// all ranks, and not with a coordinator.
  void set_credit(Bytes bytes, const Topology& topology);
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
  void submit(std::span<const Start> starts);
  /// Counts so many gradients as under way whose runs do not exist yet. Any thread.
  void hold(int gradients);
  /// Starts gradients that are already counted.
  void start_held(std::span<const Start> starts);

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
  void nudge();
  /// Returns true if `run` waits for another rank's contribution, and not only for a result that a third rank makes of
  /// several: a missing contribution shows which rank is late. Any thread.
  bool knows_who_is_late(const GradientRun& run);
  /// Waits until `ready` returns true; it is asked after each round of the progress thread that finished a gradient or
  /// took one in. Timeout; the failure. Any thread.
  Status wait_until(const std::function<bool()>& ready, Clock::time_point deadline) const;
  /// Waits until nothing is under way.
  Status wait_all(Clock::time_point deadline);
  /// The number of gradients under way.
  int active() const { return active_.load(); }
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
  bool failing() const { return failing_.load(); }
  /// OK while there is none; Aborted once closed.
  Status failure() const;
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
  TransportStats transport_stats() const;
  /// Processor seconds of the progress thread and the streams so far; only differences count. Not after stop().
  double processor_seconds() const;
  const std::string& transport_description() const { return description_; }

 private:
  struct StreamSlot;
  struct WaitingBundle;

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
  Status open_device();
  void rest_device();
  bool take_device_outcomes();
  bool begin_device_tasks();
  bool run_rounds();
  void end_rounds(bool in_order);
  TransportStats stats_now() const;
  bool run_instant_tasks();
  bool run_ready_tasks();
  bool flush_links();
  bool flush_coordinated(Clock::time_point now);
  void grant_links(Clock::time_point now);
  void want_link(Rank peer, PeerLink& link, Clock::time_point now);
  void end_grant(Rank peer, PeerLink& link);
  bool flush_by_credit(Clock::time_point now);
  bool send_words();
  void tell(Rank to, std::uint32_t hop, Rank about, Bytes bytes);
  void take_coordination(Rank from, const Message& message);
  Clock::time_point coordination_due() const;
  void flush(Rank peer, PeerLink& link, Clock::time_point now);
  void sleep();
  void announce();
  void report(Status cause);
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
  bool post(std::function<void()> call);
  /// The progress thread's answer to a question; nullopt when it has none after `patience`, or has ended.
  template <class Answer>
  std::optional<Answer> ask(std::function<Answer()> question, Seconds patience);
  void wake();
  Status make_room(std::vector<std::unique_ptr<GradientRun>>& runs);
  Status make_queues(std::span<GradientRun* const> runs);
  void reserve_links(std::span<GradientRun* const> runs);
  void prepare_threads(std::span<GradientRun* const> runs);
  void begin(const Start& start);
  void begin_all(std::span<const Start> starts);
  void begin_bundle(GradientRun& bundle, std::uint32_t step);
  std::size_t begin_bundles(std::span<const Start> starts);
  void begin_alone(const Start& start);
  void finish_bundle(GradientRun& bundle);
  std::vector<std::unique_ptr<GradientRun>> bundle_small(std::span<GradientRun* const> runs) const;
  Placement place_payload(Rank from, const Message& message);
  Placement place_bundle(Rank from, const Message& message);
  WaitingBundle& new_waiting(Rank from, const Message& message);
  void open(WaitingBundle& waiting);
  void dissolve(GradientRun& bundle);
  void keep_arrival(GradientRun& bundle, const GradientRun::Arrival& arrival);
  void resume(GradientRun& run, const Start& start, bool has_sent);
  void skip(GradientRun& run, TaskId task);
  void sent_dissolved(GradientRun& bundle);
  bool take_stale(ReadyQueue& queue);
  Placement place_whole(GradientRun& run, Rank from, const Message& message, MessageId id);
  void received_whole(GradientRun& run, Rank from, const Message& message, MessageId id);
  bool received_waiting(Rank from, const Message& message);
  void hand_out(WaitingBundle& waiting);
  bool hand_out(WaitingBundle& waiting, std::size_t at);
  void hand_out_to(const GradientRun& run);
  bool hand_over(const WaitingBundle& waiting, const Message& message, ConstView payload);
  void make_ready(GradientRun& run, TaskId task);
  void prepare(GradientRun& run, TaskId task);
  TaskOutcome compute(GradientRun& run, TaskId task, Scratch& scratch);
  bool dispatch(const ReadyTask& ready);
  Clock::time_point finish(GradientRun& run, TaskId task, TaskOutcome outcome, Clock::time_point from,
                           std::uint32_t lane);
  static void mark_not_finite(GradientRun& run, BufferId decoded);
  BufferId take_over(GradientRun& run, TaskId task, const TaskOutcome& outcome);
  void complete(GradientRun& run, TaskId task);
  void release(GradientRun& run, BufferId buffer);
  void finish_gradient(GradientRun& run);
  void finish_inner(const GradientRun& run);
  void make_turn_ready(GradientRun& run);
  Clock::time_point finish_turn(GradientRun& run, const TaskOutcome& outcome, Clock::time_point from,
                                std::uint32_t lane);
  GradientRun* find_run(std::uint64_t key) const;
  // Asynchronous ranks.
  Placement place_contribution(GradientRun& run, Rank from, const Message& message);
  void take_contribution(GradientRun& side, Rank from, const Message& message);
  void ask_owners(const GradientRun& run);
  void contribute_own(GradientRun& run);
  void end_ended(GradientRun& side);
  void begin_batch(GradientRun& side, TaskId task);
  View own_answer(GradientRun& side, TaskId task);
  Clock::time_point finish_batch(GradientRun& side, TaskId task, Clock::time_point from, std::uint32_t lane);
  void take_own_answer(GradientRun& side, TaskId task);
  static MessageKey key_of_answer(const GradientRun& side, TaskId task, const Send& send);
  void answer_left(GradientRun& side, TaskId task, const Send& send, Bytes bytes);
  bool begin_levelling(GradientRun& side);
  template <class Visit>
  void for_each_side(Visit visit) const;
  bool steps_alone() const;
  void end_rank(Rank rank, std::uint32_t steps);
  void check_consensus();
  void say_end(std::uint32_t steps);
  void say(Rank to, const MessageKey& key, std::uint64_t elements = 0);
  std::string ranks_under_way() const;
  void say_waits(Clock::time_point now);
  void take_wait(const Message& message);
  std::string answer_waits_for(const GradientRun& run, Rank owner, std::uint32_t partition) const;
  void give_memory(GradientRun& run, BufferId buffer);
  Outgoing outgoing(const ReadyTask& ready) const;
  void push_send(Rank to, const ReadyTask& ready);
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
  std::vector<std::unique_ptr<GradientRun>> bundles_;            ///< of small ones among them
  std::vector<GradientRun*> by_index_;                           ///< those, their exchanges and their bundles
  std::vector<std::unique_ptr<WaitingBundle>> waiting_bundles_;  ///< bundles that are taken apart here
  std::vector<std::unique_ptr<WaitingBundle>> spare_bundles_;
  std::unordered_map<std::uint64_t, GradientRun*> by_key_;
  std::vector<PeerLink> links_;
  std::unique_ptr<LinkCoordinator> coordinator_;  ///< null but on rank 0 of a job that has one
  std::vector<LinkCoordinator::Grant> grants_;
  std::unique_ptr<LinkCredit> credit_;  ///< null: messages go by the links' pace
  std::uint32_t notices_sent_ = 0;
  std::vector<Rank> busy_links_;  ///< those with something ready
  Bytes under_way_ = 0;           ///< handed over to the transport for all peers together, and not reported as sent
  ReadyQueue compute_;
  std::vector<ReadyTask> instant_;  ///< tasks that move no byte
  Scratch scratch_;
  std::vector<Outgoing> fused_;
  std::uint64_t arrivals_ = 0;
  std::vector<Leaver> leavers_;
  Rank comparing_ = -1;               ///< the last peer to wait for a comparison,
  std::uint64_t comparing_for_ = 0;   ///< which: over once comparisons() is as many,
  std::uint32_t comparing_from_ = 0;  ///< and the number of steps it had completed
  static constexpr std::uint32_t kNotEnded = ~0u;
  std::vector<std::uint32_t> ended_at_;  ///< by rank: the number of steps after which it has ended
  std::atomic<int> ended_ranks_{0};
  std::atomic<std::uint64_t> others_went_on_{0};  ///< changes when another rank is known to have
  std::uint64_t begun_ = 0, begun_said_ = 0;      ///< gradients' asynchronous steps here, and when it was last said
  Clock::time_point waits_said_ = Clock::now();
  bool settling_ = false;
  std::uint64_t moved_ = 0;                    ///< bytes and tasks when they last had changed, and
  Clock::time_point moved_at_ = Clock::now();  ///< when that was
  int stalls_said_ = 0;                        ///< since then
  bool announce_ = false;
  std::vector<Start> starting_;
  std::vector<GradientRun*> offered_;  ///< bundles with a member among them
  std::uint64_t allocations_seen_ = 0;

  std::unique_ptr<DeviceTasks> device_tasks_;  ///< null on the host; before the runs, whose codecs it has kernels of
  std::unique_ptr<DeviceRounds> rounds_;       ///< not null: instead of device_tasks_

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

  // State that waiters read.
  mutable std::mutex wait_mutex_;
  mutable std::condition_variable changed_;
  std::atomic<int> active_{0};
  Status failure_;  ///< under wait_mutex_
  std::atomic<bool> failing_{false};
  bool announced_failure_ = false;  ///< under wait_mutex_: memory is the callers' again
  bool settled_ = false;            ///< under wait_mutex_
  TransportStats last_stats_;       ///< under wait_mutex_
  ExecutorCounters counters_;

  std::vector<std::unique_ptr<WorkQueue>> streams_;
  std::thread progress_;
  std::optional<ThreadClock> progress_clock_;  ///< of progress_
};

}  // namespace casync::runtime
