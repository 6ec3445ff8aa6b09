// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/view.h"
#include "casync/graph/answer_batches.h"
#include "casync/graph/task_graph.h"
#include "casync/model/gradient.h"
#include "casync/model/plan.h"
#include "compll/codec/codec.h"
#include "runtime/device/device.h"
#include "runtime/executor/bundle.h"
#include "runtime/executor/lane_room.h"
#include "runtime/executor/rounds_run.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

class Answering;

/// The codecs of a graph's buffers, by hop.
struct HopCodecs {
  std::unique_ptr<compll::Codec> first, second;  ///< the decision's
  std::unique_ptr<compll::Codec> raw;            ///< the gradient's own type
  std::unique_ptr<compll::Codec> sum;            ///< float32
  std::unique_ptr<compll::Codec> kept;           ///< rounds what is kept to bfloat16; null: it is float32

  const compll::Codec& of(Hop hop) const {
    switch (hop) {
      case Hop::kFirst: return *first;
      case Hop::kSecond: return *second;
      case Hop::kRaw: return *raw;
      case Hop::kSum: return *sum;
    }
    return *first;
  }
};

/// One gradient as the executor sees it: its graph, codecs and what they keep, and how far the current step is.
///
/// Threads: the constructor's until Executor::take_in(); then the progress thread's, except for what says
/// otherwise. Tasks of one gradient that run on streams touch disjoint buffers and slices.
struct GradientRun {
  /// An encoded partition in this step.
  struct BufferState {
    View memory;      ///< empty until the first task that needs it
    Bytes bytes = 0;  ///< of the payload in it
    int uses_left = 0;
    bool from_arena = false;
    bool unchecked = false;  ///< came from another rank and no codec has looked at it yet
    bool finite = true;
  };
  static constexpr int kTaskDone = -1;
  enum class KeptBy : std::uint8_t { kEncode, kMerge, kResult };

  struct TaskTraits {
    std::uint32_t hop = 0;  ///< position on its partition's way
    bool instant = false;   ///< moves no byte: an identity codec's payload that is the gradient's own memory
  };

  struct WarmUp {
    std::uint32_t until = 0;  ///< the first step that is not its own
    std::unique_ptr<GradientRun> run;
  };

  struct Arrival {  ///< a Recv by its message, sorted, so that place() finds it
    MessageId id;
    Rank from = 0;
    TaskId task{};
    bool begun = false;  ///< in this step
  };

  GradientRun(GradientSpec specification, Decision made, TaskGraph plan_graph, HopCodecs hop_codecs);
  ~GradientRun();
  /// A bundle of runs that outlive it: what group_small() puts together.
  explicit GradientRun(std::span<GradientRun* const> members);

  /// Allocates the codecs' state twice, but where it is kept in place: as the last step left it, and for the step under
  /// way. Also allocates the memory that only turns need. Unavailable: no memory.
  Status allocate_kept(Device& device);
  /// Gives it the values that it has before the first step. Between steps. Unavailable: as Device::write.
  Status reset_kept(Device& device);
  /// The plan's choice for a gradient of this size. With one buffer it begins anew after a step that is not finite.
  ResidualMemory residual_memory() const {
    const bool is_small = parts || elements * sizeof(float) <= kAlwaysTwoBuffers;  // as all in a bundle are
    return is_small ? ResidualMemory::kTwoBuffers : decision.residual_memory;
  }
  bool has_one_buffer() const { return residual_memory() == ResidualMemory::kOneBuffer; }
  bool keeps_bfloat16() const { return residual_memory() == ResidualMemory::kBFloat16; }
  /// Returns true if another run of this gradient can go on with the state that this one keeps.
  bool keeps_like(const GradientRun& other) const;
  /// The warm-up run that replaces this one in step `asked`; null: none.
  GradientRun* warm_up_in(std::uint32_t asked) const;
  /// The scale of the last merge, where the session's is 1 of a sum and 1 / ranks of a mean.
  float scale_or(float session) const {
    if (mean_of > 0) return 1.0f / static_cast<float>(mean_of);
    return contributors > 0 && session != 1.0f ? 1.0f / static_cast<float>(contributors) : session;
  }
  /// The next step is `step`: the session's, while none is under way.
  void set_step(std::uint32_t next);

  const compll::Codec& codec(Hop hop) const { return used_codecs->of(hop); }
  Hop hop_of(BufferId buffer) const { return graph.buffers()[TaskGraph::index(buffer)].hop; }
  const compll::Codec& codec_of(BufferId buffer) const { return codec(hop_of(buffer)); }
  Slice slice_of(BufferId buffer) const { return graph.buffers()[TaskGraph::index(buffer)].slice; }
  /// The parts: each member of a bundle; the run itself if it is no bundle.
  std::size_t part_count() const { return parts ? parts->members.size() : 1; }
  GradientRun& part(std::size_t at) {
    if (!parts) return *this;
    parts->fetch_after(at);
    return *parts->members[at].run;
  }
  Slice part_slice(std::size_t at, Slice slice) const { return parts ? Slice{0, parts->members[at].elements} : slice; }
  /// Elements in a buffer, and bytes that hold any encoding of them.
  Elements elements_in(BufferId buffer) const { return parts ? elements : slice_of(buffer).count; }
  Bytes bound_of(BufferId buffer) const {
    const Hop hop = hop_of(buffer);
    return parts ? parts->bytes[static_cast<std::size_t>(hop)] : codec(hop).encoded_bound(slice_of(buffer).count);
  }
  BufferState& state(BufferId buffer) { return buffers[TaskGraph::index(buffer)]; }
  bool is_float32() const { return width == sizeof(float); }
  /// The gradient's own memory of `slice`.
  View memory(Slice slice) const;
  /// The same of a gradient in a device's memory.
  DeviceView device_memory(Slice slice) const;
  /// Once, before the first step: the gradient is in a device's memory, so that no payload lies there.
  void move_to_device();
  /// Returns true if the buffer lies in the gradient's own memory: the identity codec's payload is the elements, so
  /// nothing is copied. False for payloads that arrive to be merged: this rank's own elements are there.
  bool in_place(BufferId buffer) const { return lies_in_gradient[TaskGraph::index(buffer)]; }
  std::uint32_t partition_of(BufferId buffer) const { return graph.buffers()[TaskGraph::index(buffer)].partition; }
  /// The state that `codec` keeps for `slice` when it encodes gradients, encodes sums or makes the result; empty if it
  /// keeps none. Of bfloat16 a task widens `in`, and rounds what it makes into `out`. In one buffer the two are the
  /// same, and a task copies `in` first: codecs read it while they write `out`.
  struct DeviceKept {
    DeviceView in, out;
    Elements stride = 0;  ///< in elements
  };
  DeviceKept device_kept(const compll::Codec& codec, KeptBy use, Slice slice) const;
  /// Copies all of it, as the last committed step left it: state_floats() of them. Between steps. Unavailable: as
  /// Device::read and Device::write.
  Status read_kept(Device& device, std::vector<float>* kept) const;
  Status write_kept(Device& device, const std::vector<float>& kept);
  /// The floats of a state: what codecs keep, then what the owner's side has.
  Elements state_floats() const;
  Elements kept_floats() const { return rounds ? rounds->shape.states : kept_initial.size() * elements; }
  Bytes kept_bytes() const { return kept_floats() * bytes_of(kept_type()); }
  DType kept_type() const { return keeps_bfloat16() ? DType::kBFloat16 : DType::kFloat32; }
  Arrival* arrival(MessageId id, Rank from);
  /// The run that this gradient waits for: itself, its bundle, its warm-up, or the exchange between two turns.
  const GradientRun& under_way() const;
  /// Calls visit(GradientRun&) for this one and all that belong to it.
  template <class Visit>
  void for_each(Visit visit) {
    visit(*this);
    for (const WarmUp& stage : warm_up) visit(*stage.run);
    for (const std::unique_ptr<GradientRun>& one : gossip) one->for_each(visit);
    if (owner_side) visit(*owner_side);
    if (!rounds) return;
    for (const std::unique_ptr<GradientRun>& one : rounds->exchanges) visit(*one);
  }
  /// The rank that sent the payload in `buffer`; -1: it was made here.
  Rank sender_of(BufferId buffer) const;
  /// Sets all counters for a new step over `data`.
  void begin(std::uint32_t new_step, View new_data);

  // Fixed once built.
  GradientSpec spec;
  Decision decision;
  TaskGraph graph;
  HopCodecs codecs;
  const HopCodecs* used_codecs = &codecs;  ///< a bundle's are those of its first member
  std::uint32_t index = 0;                 ///< the executor's
  std::vector<float> kept_initial;         ///< first value of the floats of each array of `elements`
  std::vector<bool> lies_in_gradient;      ///< per buffer
  std::vector<TaskTraits> traits;          ///< per task
  std::vector<LaneRoom> lane_rooms;        ///< per task, of a gradient in a device's memory
  std::unique_ptr<RoundsRun> rounds;       ///< null but for a codec of rounds
  std::vector<WarmUp> warm_up;             ///< the runs that replace this one in the first steps, in order
  std::unique_ptr<Bundle> parts;           ///< null but for a bundle
  /// Gossip: the runs that replace this one where it goes to neighbours only, one of each neighbourhood.
  std::vector<std::unique_ptr<GradientRun>> gossip;
  GradientRun* consensus = nullptr;  ///< the one of them that replaces this one in a consensus; null: none does
  GradientRun* outer = nullptr;      ///< not null: this is an exchange, a warm-up, the gossip or owner's side of that
  /// Asynchronous ranks: this rank's own step. It keeps what its encodes leave, whatever the answer is.
  bool asynchronous = false;
  bool asks_owners = false;  ///< of those: this rank is a dedicated server, whose step contributes nothing
  /// The owner's side of that, which is never under way as a step; null: this rank owns no partition.
  std::unique_ptr<GradientRun> owner_side;
  std::unique_ptr<Answering> answering;  ///< null but for an owner's side
  int mean_of = 0;             ///< the number of contributions that the last merge averages; 0: the session's scale
  int contributors = 0;        ///< ranks that contribute, beside dedicated servers; 0: all
  bool borrows_slots = false;  ///< another run, never under way together with this one, has reserved the arena's slots,
                               ///< or its messages lie elsewhere

  // A step of a small gradient in a bundle touches these two cache lines and no others: thousands of gradients do not
  // fit into a cache otherwise.
  alignas(64) GradientRun* bundle = nullptr;  ///< not null: the bundle that this gradient may travel in
  std::uint32_t bundle_place = 0;             ///< among its members

  // The step under way.
  std::uint32_t step = 0;
  View data;
  bool active = false;
  bool finite = true;
  bool keeps = true;  ///< the codecs have written new state

  bool shares_kept = false;     ///< uses the outer one's state
  bool keeps_in_place = false;  ///< a step changes the state at once, and there is no other to go back to
  /// 1 + the last step whose result is complete; 0: none. Any thread.
  std::atomic<std::uint32_t> completed{0};
  /// Index into kept_data of the state that the last committed step left; the session's while no step is under way.
  std::uint8_t committed = 0;
  std::uint8_t width = 0;  ///< bytes of an element of the gradient
  Rank self = 0;
  Clock::time_point begun;
  std::uint64_t key = 0;  ///< names it in messages: a hash of its name, the same on all ranks
  Elements elements = 0;
  std::array<DeviceView, 2> kept_data{};   ///< what codecs keep: kept_bytes() each, or nothing
  std::array<std::uint32_t, 3> kept_at{};  ///< the first array of each KeptBy
  // For reports.
  std::uint32_t steps = 0;
  double total_s = 0;

  DeviceView device_data;          ///< instead of `data`, on a device
  const Event* ready = nullptr;    ///< behind which the program has written it there; null: it has
  GradientRun* instead = nullptr;  ///< the run that replaces this one in the step
  int tasks_left = 0;
  std::vector<int> waits_for;            ///< per task: predecessors not done; kTaskDone afterwards
  std::vector<Clock::time_point> since;  ///< per task: when its message began to move
  std::vector<BufferState> buffers;
  std::vector<Arrival> arrivals;
  std::optional<AnswerBatches::Wait> waits_behind;  ///< what an owner has said about its answer

  std::unique_ptr<DeviceBuffer> kept_memory[2];  ///< null where kept_data lies in a block that several share
  std::shared_ptr<DeviceBuffer> kept_block;
  std::atomic<double> exposed_s{0};  ///< the program stood still for it

 private:
  void lay_out_kept();
  void find_traits();
  void find_arrivals();
};

/// Fetches what a step touches of `run`.
inline void fetch_step_of(const GradientRun* run) {
  __builtin_prefetch(&run->bundle, 1);
  __builtin_prefetch(&run->elements, 1);
}

inline void Bundle::fetch_after(std::size_t at) const {
  constexpr std::size_t kRunsAhead = 6;
  constexpr Bytes kLine = 64, kMost = 1_KiB;  // processors foresee the rest
  if (at + kRunsAhead < members.size()) fetch_step_of(members[at + kRunsAhead].run);
  if (at + 1 >= members.size()) return;
  const View next = members[at + 1].data;
  for (Bytes i = 0; i < std::min(next.size, kMost); i += kLine) __builtin_prefetch(next.data + i);
}

/// Allocates what the codecs of `runs` keep, with one block for all small ones: a page of its own for each would leave
/// most sets of a cache unused, and thousands of pages to translate. Unavailable: no memory.
Status allocate_kept(std::span<const std::unique_ptr<GradientRun>> runs, Device& device);

}  // namespace casync::runtime
