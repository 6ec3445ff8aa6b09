// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "casync/simulator/drift.h"
#include "casync/simulator/event_queue.h"
#include "casync/simulator/flat_tasks.h"
#include "casync/simulator/late_exchanges.h"
#include "casync/simulator/peer_count.h"
#include "casync/simulator/rank_steps.h"
#include "casync/simulator/simulate.h"
#include "casync/simulator/under_way.h"

namespace casync {

/// One run of the simulator. All time is virtual; what happens at the same moment happens before anything new begins
/// at that moment, so that a resource chooses among all that is ready. Events of one rank at one moment are ordered
/// by when they were caused, then by the order in which the causing rank caused them, then by the nearest causing
/// rank before this one. So ranks that are alike do the same at the same time, whatever their names.
class Engine {
 public:
  /// Borrows its arguments, which have been checked.
  Engine(const Scenario& scenario, const SimulationOptions& options, const FlatTasks& flat, Drift drift);

  /// Internal: some task can never run.
  Result<Simulation> run();

 private:
  /// Something that takes time, at a rate that may change on the way.
  struct Work {
    double left = 0;  ///< seconds at rate 1, at `since`
    double rate = 1;
    double since = 0;
    bool running = false;
    std::uint32_t version = 0;
  };

  /// A point that training passes: a gradient is ready, the backward pass ends, a gradient is needed, the step ends.
  struct Milestone {
    enum class Kind : std::uint8_t { kReady, kBackwardEnd, kNeed, kStepEnd };
    double position = 0;  ///< seconds of training since the step began
    Kind kind{};
    std::uint32_t gradient = 0;
  };

  /// Processor work of a rank for a message.
  struct MessageWork {
    enum class Kind : std::uint8_t {
      kSend,
      kReceive,
      kAnnounced,  ///< a message asks its receiver
      kAnswered    ///< the receiver has answered
    };
    std::uint32_t first = 0;  ///< task of the message
    int step = 0;             ///< of its sender
    Kind kind{};
    double seconds = 0;
  };

  /// A rank's copies in one direction between its device and the host, one after the other.
  struct Copies {
    Work work;
    std::uint32_t task = kNoTask;
    UrgentQueue ready;
  };

  struct RankState {
    Work training, codec, messages;
    Copies uploads, downloads;
    std::size_t milestone = 0;  ///< the next one
    int step = 0;
    std::uint32_t submitted = 0;  ///< gradients of this step
    double factor = 1;            ///< of training in this step
    double step_began = 0, pass_began = 0, blocked_since = 0;
    bool blocked = false;
    std::uint32_t codec_task = kNoTask;
    double codec_began = 0, messages_began = 0;
    SharedKernels kernels;
    std::deque<MessageWork> message_work;  ///< first come, first served; the first one runs
    UrgentQueue ready;
    bool dirty = false;
    std::uint64_t pushed_in = 0, pushed = 0;  ///< its events of one wave
    StepParts sums;
  };

  /// One gradient on one rank.
  struct RunState {
    int step = -1;  ///< the last one that began
    bool active = false;
    std::uint32_t tasks_left = 0;
    double ready_at = 0;
    std::vector<std::pair<std::uint32_t, int>> early;  ///< messages of steps that have not begun: recv, step
  };

  /// A message by its first task, with all that has joined it.
  struct HandedOver {
    std::uint32_t first = 0;
    Bytes bytes = 0;
  };

  struct Port {
    bool sending = false;
    double receives_until = 0;
    UrgentQueue ready;  ///< may name sends that have left fused with another
    // With a credit: messages that nothing overtakes any more, and the bytes of these and of those that have left.
    std::deque<HandedOver> handed_over;
    Bytes under_way = 0;
    // Kept where the link has a fan of that kind.
    PeerCount receivers;  ///< of messages that wait to leave or are leaving
    PeerCount senders;    ///< of messages that arrive or wait to
    bool dirty = false;
  };

  // engine.cc
  void happen(const Event& event);
  void dispatch();
  void push(Event::Kind kind, double time, std::uint32_t subject, std::uint32_t version, Rank pusher, Rank rank,
            int distance = 0);
  void start_ranks();
  void start_codec(Rank rank);
  void end_codec(Rank rank);
  void start_copy(Rank rank, Copies& copies, Event::Kind kind, float FlatTask::*seconds);
  std::uint32_t end_copy(Rank rank, Copies& copies, float FlatTask::*seconds);
  double seconds_of(RankState& own, const UrgentTask& next) const;
  double slowness_of(Rank rank) const;
  double codec_rate(Rank rank, TaskVerb verb) const;
  double messages_rate(Rank rank) const;
  double training_rate(Rank rank) const;
  void make_ready(std::uint32_t task);
  void complete(std::uint32_t task);
  void finish_run(std::uint32_t run);
  void start(Work& work, double seconds, double rate, Event::Kind kind, Rank rank);
  void change_rate(Work& work, double rate, Event::Kind kind, Rank rank);
  void mark(Rank rank);
  Status all_done() const;
  Simulation result();

  // engine_training.cc
  std::vector<Milestone> milestones() const;
  void begin_step(Rank rank);
  void go_on(Rank rank);
  void pass(Rank rank);
  void submit(Rank rank, std::uint32_t gradient);
  bool is_missing(Rank rank, std::uint32_t gradient) const;
  void begin_run(Rank rank, std::uint32_t gradient, int step);
  void end_step(Rank rank);
  double factor_of(Rank rank, int step) const;

  // engine_drift.cc
  bool is_side(std::uint32_t task) const;
  double work_s(std::uint32_t task) const;
  void begin_late(Rank rank);
  void finish_late(Rank rank);
  void contribute_own(Rank rank, std::uint32_t gradient, int step);
  void begin_batch(std::size_t partition);
  void side_over(std::uint32_t task);
  void answer(std::size_t partition, Rank rank);
  void end_rank(Rank rank);
  void add_paces(Simulation& simulation) const;

  // engine_network.cc
  std::size_t port_of(std::uint32_t message) const;
  const Link& link_of(std::uint32_t message) const;
  const Link& link_at(std::size_t port) const {
    return port < ranks_.size() ? scenario_.profile.inside : scenario_.profile.between;
  }
  void add_send(std::uint32_t send);
  bool is_announced(std::uint32_t send) const;
  void queue_send(std::uint32_t send);
  void start_sending(std::size_t port);
  bool clean(UrgentQueue& queue) const;
  std::optional<HandedOver> next_message(Port& port);
  void hand_over(Port& port);
  void give_back_credit(std::uint32_t first, int step);
  Bytes& credit_of(std::uint32_t first, int step) { return credit_[2 * std::size_t{first} + (step & 1)]; }
  Bytes fuse(std::uint32_t first);
  void port_free(std::uint32_t first);
  void head_arrives(std::uint32_t first, std::uint32_t step);
  void part_left(std::uint32_t first);
  void part_arrived(std::uint32_t first, int step);
  void add_work(Rank rank, const MessageWork& work);
  void start_messages(Rank rank);
  void end_messages(Rank rank);
  void arrived(std::uint32_t first, int step);
  void receive(std::uint32_t recv);

  Rank rank_of(std::uint32_t task) const { return static_cast<Rank>(tasks_[task].run / slots_); }
  std::uint32_t gradient_of(std::uint32_t task) const { return tasks_[task].run % slots_ % gradients_; }
  /// The run of a gradient in a step; in pairs, ranks have one for each pairing.
  std::uint32_t run_of(Rank rank, std::uint32_t gradient, int step) const {
    const std::uint32_t pairing = drift_.pairings.empty() ? 0 : drift_.pairings[static_cast<std::size_t>(step)];
    return static_cast<std::uint32_t>(rank) * slots_ + pairing * gradients_ + gradient;
  }
  /// The step of a message that has not left. An owner's messages, and those to it, need none: nobody has two of a
  /// kind.
  int step_of(std::uint32_t send) const { return drift_.owners != nullptr ? 0 : runs_[tasks_[send].run].step; }
  Rank receiver_of(std::uint32_t send) const { return rank_of(tasks_[send].peer_task); }
  /// Number of ranks from the rank at this end of a message up to the other.
  int distance_of(std::uint32_t message) const;
  double task_s(std::uint32_t task) const { return tasks_s_[gradient_of(task)]; }
  UrgentTask urgent(std::uint32_t task);
  RankState& state(Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  void keep_span(std::uint32_t task, double from);

  const Scenario& scenario_;
  const SimulationOptions& options_;
  const FlatTasks& flat_;
  const std::span<const FlatTask> tasks_;
  const Drift drift_;
  const std::uint32_t gradients_, slots_;  ///< trained ones, and those of which ranks have tasks
  const std::vector<double> tasks_s_;      ///< by trained gradient: the seconds of each task besides its work
  const std::vector<Milestone> milestones_;

  double now_ = 0;
  std::uint64_t wave_ = 1;
  EventQueue events_;
  std::vector<RankState> ranks_;                          // the ranks that stand for all
  std::vector<RunState> runs_;                            // [rank * slots + slot]
  std::vector<Port> ports_;                               // inside a node [rank], then between nodes
  std::unordered_map<std::uint64_t, UrgentQueue> lanes_;  // sends from one rank to another: what may fuse
  std::vector<Rank> dirty_ranks_, marked_ranks_;          // those at which something may begin
  std::vector<std::size_t> dirty_ports_, marked_ports_;

  // Indexed by task.
  std::vector<std::int32_t> waits_for_;
  std::vector<std::uint32_t> fused_with_;  // the next task of the same message
  std::vector<double> since_;  // when a message asked, or began to leave, or to arrive; before that, has left
  std::vector<std::uint64_t> queued_as_;  // the arrival of a send that waits for its port; 0: it does not
  // Bytes of a message that has been handed over, by its first task and the last bit of its step: its word comes ahead
  // of the message two steps later, which needs an answer to the one between. Empty: no credit.
  std::vector<Bytes> credit_;
  // Parts still missing until a message, given by its first task, has left and has arrived. Used if messages take
  // processor time.
  std::vector<std::uint8_t> to_leave_, to_arrive_;
  std::vector<std::uint32_t> done_;  // tasks that are over and have not set their successors free

  UnderWay under_way_;                 // with gossip, and where results come several steps late
  std::optional<RankSteps> steps_;     // where ranks drift apart
  std::optional<LateExchanges> late_;  // of a staleness above 1, of ranks that differ
  std::uint64_t arrivals_ = 1, messages_ = 0;
  double bytes_sent_ = 0, ended_ = 0;
  int ranks_done_ = 0;
  std::vector<GradientTimes> times_;
  std::vector<SimulatedSpan> spans_;
};

}  // namespace casync
