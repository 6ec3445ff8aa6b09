// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/device_tasks.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "compll/codec/payload.h"
#include "runtime/executor/kernel_queue.h"

namespace casync::runtime {
namespace {

// So many tasks overlap: copies one way, copies the other way and kernels each keep a part of the device busy.
constexpr std::size_t kLanes = 4;
// A merge of half-precision gradients into another codec widens, decodes and encodes: no task has more calls.
constexpr std::size_t kMostCalls = 3;
constexpr Bytes kAlignment = 256;
constexpr std::chrono::microseconds kRestPause{200};

using Use = GradientRun::KeptBy;

/// Bells that a device which failed may still ring.
void keep_for_ever(std::shared_ptr<Bell> bell) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<std::shared_ptr<Bell>>;
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(bell));
}

}  // namespace

void Bell::ring(void* bell) {
  auto& self = *static_cast<Bell*>(bell);
  const std::lock_guard lock(self.mutex_);
  if (self.transport_ != nullptr) self.transport_->wake();
  self.rung_.fetch_add(1);
}

void Bell::silence() {
  const std::lock_guard lock(mutex_);
  transport_ = nullptr;
}

/// Sizes of a lane's memory.
struct DeviceTasks::Plan {
  Bytes vectors = 0;  ///< what tasks read and make on the device
  Bytes kernels = 0;  ///< what one call takes there
  Bytes pinned = 0;   ///< and what it is filled from

  void cover(const Plan& other) {
    vectors = std::max(vectors, other.vectors);
    kernels = std::max(kernels, other.kernels);
    pinned = std::max(pinned, other.pinned);
  }
  bool covers(const Plan& other) const {
    return vectors >= other.vectors && kernels >= other.kernels && pinned >= other.pinned;
  }
};

struct DeviceTasks::Lane {
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Event> end;
  std::unique_ptr<DeviceBuffer> memory;  ///< a Plan's vectors, then the room of kernels
  std::unique_ptr<DeviceBuffer> pinned;  ///< the head of an identity's payload, then what each call is filled from
  std::vector<KernelTerm> terms;
  GradientRun* run = nullptr;
  TaskId task{};
  Clock::time_point from;
};

/// Queues a task on a lane; without one it finds out what a lane needs for it.
class DeviceTasks::Maker final : private KernelQueue {
 public:
  Maker(DeviceTasks& tasks, Lane* lane, std::vector<KernelTerm>& terms)
      : KernelQueue(tasks.kernels_, {tasks.settings_.seed, tasks.settings_.scale}),
        tasks_(tasks),
        lane_(lane),
        terms_(terms) {}

  Status make(GradientRun& run, TaskId task) {
    if (run.rounds) return make_turn(run, run.rounds->turn);
    run_ = &run;
    const Primitive& primitive = run.graph.tasks()[TaskGraph::index(task)];
    if (const auto* encode = std::get_if<Encode>(&primitive)) return this->encode(*encode);
    if (const auto* merge = std::get_if<Merge>(&primitive)) return this->merge(*merge);
    if (const auto* decode = std::get_if<Decode>(&primitive)) return this->decode(*decode);
    return Status::ok();  // a message
  }
  /// The turn of this number of a gradient whose codec exchanges within a step.
  Status make_turn(GradientRun& run, std::uint32_t number) {
    run_ = &run;
    CASYNC_RETURN_IF_ERROR(wait_for_gradient());
    return turn(run, number);
  }
  const Plan& plan() const { return plan_; }

 private:
  Status encode(const Encode& encode) {
    const compll::Codec& codec = run_->codec_of(encode.to);
    CASYNC_RETURN_IF_ERROR(wait_for_gradient());
    DeviceView in;
    CASYNC_RETURN_IF_ERROR(read_gradient(*run_, encode.from, &in));
    if (codec.info().identity) return download(in, run_->state(encode.to).memory);
    KernelCall call = call_of(*run_, KernelFunction::kEncode, codec, Use::kEncode, encode.from);
    call.in = in;
    return make_payload(codec, encode.to, call);
  }

  Status merge(const Merge& merge) {
    const compll::Codec* in = nullptr;
    CASYNC_RETURN_IF_ERROR(gather(merge, &in));
    KernelCall call;
    CASYNC_RETURN_IF_ERROR(begin_merge(*run_, merge, terms_, in, &call));
    return make_payload(run_->codec_of(merge.to), merge.to, call);
  }

  Status decode(const Decode& decode) {
    const compll::Codec& codec = run_->codec_of(decode.from);
    const DeviceView out = decoded(*run_, decode.to);
    CASYNC_RETURN_IF_ERROR(wait_for_gradient());
    if (lane_ != nullptr) CASYNC_RETURN_IF_ERROR(check_payload(*run_, decode.from));
    if (codec.info().identity) {
      CASYNC_RETURN_IF_ERROR(upload(decode.from, out));
    } else {
      terms_.assign(1, {take_vector(run_->bound_of(decode.from)), {}});
      CASYNC_RETURN_IF_ERROR(upload(decode.from, terms_[0].payload));
      KernelCall call;
      call.function = KernelFunction::kDecode;
      call.n = decode.to.count;
      call.terms = terms_;
      call.out = out;
      CASYNC_RETURN_IF_ERROR(launch(codec, call));
    }
    return end_decode(*run_, decode.to, out);
  }

  /// Brings the terms of a merge to the device; `in`: the codec of those that are codes.
  Status gather(const Merge& merge, const compll::Codec** in) {
    terms_.clear();
    for (const std::optional<BufferId>& one : merge.contributions) {
      if (!one) {
        CASYNC_RETURN_IF_ERROR(wait_for_gradient());
        DeviceView local;
        CASYNC_RETURN_IF_ERROR(read_gradient(*run_, merge.local, &local));
        terms_.push_back({{}, local});
        continue;
      }
      if (lane_ != nullptr) CASYNC_RETURN_IF_ERROR(check_payload(*run_, *one));
      const compll::Codec& codec = run_->codec_of(*one);
      const DeviceView at = take_vector(run_->bound_of(*one));
      CASYNC_RETURN_IF_ERROR(upload(*one, at));
      if (codec.info().identity) {
        terms_.push_back({{}, at});
      } else {
        terms_.push_back({at, {}});
        *in = &codec;
      }
    }
    return Status::ok();
  }

  /// An identity's elements leave without their head, which says if they are finite.
  Status make_payload(const compll::Codec& codec, BufferId to, KernelCall& call) {
    const Bytes head = codec.info().identity ? kDevicePayloadHead : 0;
    const Bytes bound = run_->bound_of(to);
    call.payload = take_vector(head + bound);
    CASYNC_RETURN_IF_ERROR(launch(codec, call));
    if (lane_ == nullptr) return Status::ok();
    if (head != 0) {
      CASYNC_RETURN_IF_ERROR(
          lane_->stream->download(call.payload.slice(0, head), lane_->pinned->view().slice(0, head)));
    }
    return lane_->stream->download(call.payload.slice(head, bound), run_->state(to).memory);
  }

  Status queue(CodecKernels& kernels, const KernelCall& call) override { return queue_call(kernels, call); }
  Status queue(TurnKernels& kernels, const TurnCall& call) override { return queue_call(kernels, call); }

  template <class Kernels, class Call>
  Status queue_call(Kernels& kernels, const Call& call) {
    if (lane_ == nullptr) {
      const Result<KernelRoom> room = kernels.room(call);
      if (!room) return room.status();
      plan_.kernels = std::max(plan_.kernels, round_up(room->device, kAlignment));
      plan_.pinned = std::max(plan_.pinned, round_up(room->pinned, kAlignment));
      return Status::ok();
    }
    const Plan& room = *tasks_.room_;
    CASYNC_CHECK(calls_ < kMostCalls);
    const View pinned = lane_->pinned->view().slice(kAlignment + calls_++ * room.pinned, room.pinned);
    return kernels.issue(call, lane_->memory->device().slice(room.vectors, room.kernels), pinned, *lane_->stream);
  }

  DeviceView take_vector(Bytes bytes) override {
    const Bytes at = plan_.vectors;
    plan_.vectors += round_up(bytes, kAlignment);
    if (lane_ == nullptr) return {kAlignment, bytes};
    CASYNC_CHECK(plan_.vectors <= tasks_.room_->vectors);
    return lane_->memory->device().slice(at, bytes);
  }

  Status copy(DeviceView from, DeviceView to) override {
    return lane_ == nullptr ? Status::ok() : lane_->stream->copy(from, to);
  }

  Status wait_for_gradient() {
    if (lane_ == nullptr || run_->ready == nullptr) return Status::ok();
    return lane_->stream->wait_for(*run_->ready);
  }
  Status upload(BufferId from, DeviceView to) {
    if (lane_ == nullptr) return Status::ok();
    const GradientRun::BufferState& state = run_->state(from);
    return lane_->stream->upload({state.memory.data, state.bytes}, to.slice(0, state.bytes));
  }
  Status download(DeviceView from, View to) {
    return lane_ == nullptr ? Status::ok() : lane_->stream->download(from, {to.data, from.size()});
  }

  DeviceTasks& tasks_;
  Lane* const lane_;
  std::vector<KernelTerm>& terms_;
  GradientRun* run_ = nullptr;
  Plan plan_;
  std::size_t calls_ = 0;
};

DeviceTasks::DeviceTasks(Device& device, const Settings& settings, Transport& transport)
    : device_(device),
      settings_(settings),
      bell_(std::make_shared<Bell>(transport)),
      kernels_(device),
      room_(std::make_unique<Plan>()) {}

DeviceTasks::~DeviceTasks() { bell_->silence(); }

Status DeviceTasks::open() {
  for (std::size_t i = 0; i < kLanes; ++i) {
    auto lane = std::make_unique<Lane>();
    Result<std::unique_ptr<Stream>> stream = device_.make_stream(false);
    if (!stream) return stream.status();
    Result<std::unique_ptr<Event>> end = device_.make_event();
    if (!end) return end.status();
    lane->stream = std::move(*stream);
    lane->end = std::move(*end);
    lanes_.push_back(std::move(lane));
    free_.push_back(static_cast<std::uint32_t>(i));
  }
  taken_.reserve(kLanes);
  return Status::ok();
}

Status DeviceTasks::take_in(std::span<GradientRun* const> runs, const std::function<void()>& rest) {
  Plan all = *room_;
  std::vector<KernelTerm> terms;
  for (GradientRun* run : runs) {
    if (Status status = kernels_.take_in(*run); !status) {
      return Status(status.code(), "gradient " + run->spec.name + ": " + status.message());
    }
    const std::size_t tasks = run->rounds ? run->rounds->turns() : run->graph.tasks().size();
    for (std::size_t i = 0; i < tasks; ++i) {
      Maker maker(*this, nullptr, terms);
      const Status status =
          run->rounds ? maker.make_turn(*run, static_cast<std::uint32_t>(i)) : maker.make(*run, TaskId(i));
      if (!status) {
        return Status(status.code(), "gradient " + run->spec.name + ": " + status.message());
      }
      all.cover(maker.plan());
    }
  }
  if (lanes_[0]->memory != nullptr && room_->covers(all)) return Status::ok();
  rest();
  return make_room(all);
}

/// Replaces each lane's memory.
Status DeviceTasks::make_room(const Plan& plan) {
  CASYNC_CHECK(under_way() == 0);
  for (const std::unique_ptr<Lane>& lane : lanes_) {
    lane->terms.reserve(static_cast<std::size_t>(settings_.ranks));
    lane->memory.reset();
    lane->pinned.reset();
    auto memory = device_.allocate(plan.vectors + plan.kernels, Memory::kDevice);
    if (!memory) return memory.status();
    auto pinned = device_.allocate(kAlignment + kMostCalls * plan.pinned, Memory::kPinned);
    if (!pinned) return pinned.status();
    lane->memory = std::move(*memory);
    lane->pinned = std::move(*pinned);
  }
  *room_ = plan;
  return Status::ok();
}

Status DeviceTasks::begin(GradientRun& run, TaskId task) {
  const std::uint32_t at = free_.back();
  Lane& lane = *lanes_[at];
  lane.run = &run;
  lane.task = task;
  lane.from = Clock::now();
  free_.pop_back();
  taken_.push_back(at);
  Status status = Maker(*this, &lane, lane.terms).make(run, task);
  if (status.is_ok()) status = lane.stream->record(*lane.end);
  if (status.is_ok()) status = lane.stream->call(Bell::ring, bell_.get());
  if (status.is_ok()) {
    bell_->asked();
    return status;
  }
  failed_ = true;
  return Status(status.code(),
                "gradient " + run.spec.name + ", step " + std::to_string(run.step) + ": " + status.message());
}

std::optional<DeviceTasks::Ended> DeviceTasks::take_ended() {
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    const Lane& lane = *lanes_[taken_[i]];
    const Result<bool> done = lane.end->done();
    if (done && !*done) continue;
    Ended ended{lane.run, lane.task, {}, lane.from, taken_[i] + 1};
    if (done) {
      ended.outcome = outcome_of(lane);
    } else {
      failed_ = true;
      ended.outcome.status =
          Status(done.status().code(), "gradient " + lane.run->spec.name + ", step " + std::to_string(lane.run->step) +
                                           ": " + done.status().message());
    }
    free_.push_back(taken_[i]);
    taken_.erase(taken_.begin() + static_cast<std::ptrdiff_t>(i));
    return ended;
  }
  return std::nullopt;
}

TaskOutcome DeviceTasks::outcome_of(const Lane& lane) const {
  GradientRun& run = *lane.run;
  if (run.rounds) {
    TaskOutcome outcome;
    if (!run.rounds->is_last()) return outcome;
    for (const std::unique_ptr<GradientRun>& one : run.rounds->exchanges) outcome.finite &= one->finite;
    return outcome;
  }
  const Primitive& primitive = run.graph.tasks()[TaskGraph::index(lane.task)];
  if (const auto* decode = std::get_if<Decode>(&primitive)) {
    return {Status::ok(), run.state(decode->from).bytes, run.state(decode->from).finite};
  }
  const auto* const merge = std::get_if<Merge>(&primitive);
  const BufferId to = merge != nullptr ? merge->to : std::get<Encode>(primitive).to;
  const bool identity = run.codec_of(to).info().identity;
  TaskOutcome outcome{Status::ok(), run.bound_of(to), true};
  if (merge == nullptr && identity) return outcome;  // as it is on the host: the merge looks
  const std::byte* const head = identity ? lane.pinned->view().data : run.state(to).memory.data;
  outcome.finite = compll::says_finite(head);
  if (merge == nullptr) return outcome;
  for (const std::optional<BufferId>& one : merge->contributions) {
    if (one) outcome.finite = outcome.finite && run.state(*one).finite;
  }
  return outcome;
}

bool DeviceTasks::come_to_rest(Clock::time_point deadline) {
  while (true) {
    while (take_ended()) {
    }
    const bool at_rest = taken_.empty() && (failed_ || bell_->is_at_rest());
    if (at_rest || Clock::now() >= deadline) break;
    std::this_thread::sleep_for(kRestPause);
  }
  bell_->silence();
  if (!bell_->is_at_rest()) keep_for_ever(bell_);
  if (taken_.empty()) return true;
  log().error("{}: {} tasks have not ended: their memory is kept until the process ends", device_.name(),
              taken_.size());
  for (const std::uint32_t at : taken_) static_cast<void>(lanes_[at].release());
  return false;
}

}  // namespace casync::runtime
