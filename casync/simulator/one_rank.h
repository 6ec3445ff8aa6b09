// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "casync/simulator/event_queue.h"
#include "casync/simulator/outline.h"
#include "casync/simulator/simulate.h"

namespace casync {

/// One step of one rank, from outlines, for ranks that are all alike: a few thousand events where the simulator has
/// millions. Training, codec and ports as in Engine, but messages go in lumps: where one processor has codecs and
/// messages to do, a lump waits for one codec task, and each of its messages would. Reuses its memory from run to run.
class OneRank {
 public:
  /// Borrows both. Their numbers have been checked.
  OneRank(const Training& training, const Profile& profile);

  /// Outlines are by position in training.gradients; one without stages is over at once. A rank sends as much as it
  /// receives.
  Simulation run(std::span<const Outline* const> outlines, std::span<const int> priorities, Bytes fusion_bytes);
  /// The same without anything but the step's seconds.
  double step_seconds(std::span<const Outline* const> outlines, std::span<const int> priorities, Bytes fusion_bytes);

 private:
  struct Work {
    double left = 0, rate = 1, since = 0;
    bool running = false;
    std::uint32_t version = 0;
  };
  struct Milestone {
    double position = 0;
    int kind = 0;  ///< ready, end of the backward pass, need, end of the step
    std::uint32_t gradient = 0;
  };
  /// A stage of a lump, or of a round.
  struct Item {
    std::uint32_t gradient = 0;
    std::uint16_t stage = 0, round = 0;
  };
  struct Port {
    bool sending = false;
    double receives_until = 0;
    UrgentQueue ready;
  };
  /// Processor work for a message, by its first item.
  struct MessageWork {
    std::uint32_t first = 0;
    bool sending = false;
    double seconds = 0;
  };
  /// A message that takes processor time: what it still needs to have left and to have arrived.
  struct Message {
    std::uint32_t next = 0;  ///< item that leaves as one with this, or the first one itself: none
    std::uint8_t to_leave = 0, to_arrive = 0;
    double receive_work_s = 0;
  };

  void reset();
  void happen(const Event& event);
  void training_comes_by();
  void go_on();
  void begin(std::uint32_t gradient);
  void enter(std::uint32_t gradient, std::size_t at, std::uint16_t round);
  void over(const Item& item);
  void finish(std::uint32_t gradient);
  void start_codec();
  void start_messages();
  void start_sending(bool between);
  void send_with_work(std::span<const std::uint32_t> together, MessageWorkSeconds work, double seconds, double head_s,
                      double arrives);
  void part_left(std::uint32_t first);
  void part_arrived(std::uint32_t first);
  bool one_thread() const { return profile_.processors == 1; }
  double training_rate() const {
    return at_codec_.running || at_messages_.running ? 1 / profile_.contention.training : 1;
  }
  void start(Work& work, double seconds, double rate, Event::Kind kind);
  void change_rate(Work& work, double rate, Event::Kind kind);
  /// The seconds of a codec's stage that begins now.
  double seconds_of(std::uint32_t item, std::uint64_t arrival) {
    const Stage& stage = stage_of(item);
    if (stage.shared_s <= 0) return stage.seconds;
    const std::uint32_t codec = outlines_[items_[item].gradient]->codec;
    const bool shares = kernels_.takes(codec, static_cast<std::uint8_t>(stage.kind), arrival, arrivals_, now_);
    return shares ? stage.seconds - stage.shared_s : stage.seconds;
  }
  const Stage& stage_of(std::uint32_t item) const {
    return outlines_[items_[item].gradient]->stages[items_[item].stage];
  }

  const Training& training_;
  const Profile& profile_;
  std::vector<Milestone> milestones_;

  std::span<const Outline* const> outlines_;
  std::span<const int> priorities_;
  Bytes fusion_bytes_ = 0;

  double now_ = 0;
  std::uint64_t arrivals_ = 1;
  EventQueue events_;
  Work at_training_, at_codec_, at_messages_;
  std::size_t milestone_ = 0;
  bool blocked_ = false;
  double blocked_since_ = 0, codec_began_ = 0, messages_began_ = 0;
  std::uint32_t codec_item_ = 0;
  UrgentQueue codec_ready_;
  SharedKernels kernels_;
  Port ports_[2];
  bool messages_work_ = false;            ///< they take processor time
  std::deque<MessageWork> message_work_;  ///< first come, first served; the first one runs
  std::vector<Message> messages_;         ///< by item, where they do
  std::vector<Item> items_;
  std::vector<std::uint32_t> gathered_, gathered_from_, left_;
  std::vector<std::uint8_t> active_;
  Simulation made_;
};

/// The simulation of ranks that are alike, by one of them. Where partitions are as many as ranks, or more, all ranks do
/// the same at the same time and the result is nearly the simulator's; else owners are spread over ranks in the mean.
/// InvalidArgument: ranks that are not alike, steps, slowness, jitter or spans asked for; else as simulate().
Result<Simulation> simulate_one_rank(const Scenario& scenario, const SimulationOptions& options);

}  // namespace casync
