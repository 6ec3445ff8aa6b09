// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/answer_lane.h"

#include <optional>
#include <span>

#include "base/check.h"
#include "compll/codec/coded/coded_codec.h"
#include "compll/codec/payload.h"
#include "runtime/executor/answering.h"
#include "runtime/executor/payload_lane.h"

namespace casync::runtime {
namespace {

/// The run and the buffer of an answer: this rank's own step awaits its own.
struct Answer {
  GradientRun* run = nullptr;
  BufferId buffer{};
};

Answer answer_of(GradientRun& side, TaskId batch, Rank rank) {
  const Answering& answering = *side.answering;
  if (rank != side.self) return {&side, answering.of(batch).messages(rank).answer};
  return {side.related.outer(), answering.of(batch).own_answer(*side.related.outer())};
}

/// The lane's plain payloads begin with the heads of contributions, so far from each other.
constexpr Bytes kHeadDistance = LaneRoom::kAlignment;

class AnswerQueue final : public PayloadQueue {
 public:
  AnswerQueue(const LaneTasks& tasks, const LaneRoom& room, DeviceLane* lane, LaneLists& lists, GradientRun& side,
              TaskId batch)
      : PayloadQueue(tasks, room, lane, lists),
        tasks_(tasks),
        side_(side),
        batch_(batch),
        answering_(*side.answering),
        sums_(answering_.on_device()->sums(batch)),
        n_(sums_.elements()) {}

  /// Adds contributions to the sums of all ranks, but for those that are not finite.
  Status take() {
    heads_ = take_plain(kHeadDistance * static_cast<Bytes>(sums_.ranks()));  // where end_taking() looks
    if (lane_ == nullptr) {
      for (Rank rank = 0; rank < sums_.ranks(); ++rank) {
        if (answering_.contributes(rank)) CASYNC_RETURN_IF_ERROR(read(rank));
      }
    } else {
      for (const Rank rank : answering_.of(batch_).batches().taken()) CASYNC_RETURN_IF_ERROR(read(rank));
    }
    if (lists_.sums.empty()) return Status::ok();
    CASYNC_RETURN_IF_ERROR(decode());
    CASYNC_RETURN_IF_ERROR(look());
    return add();
  }

  /// Makes the answer to a rank. Without a lane both that of its sum and that of a step that is not finite.
  Status answer(Rank rank) {
    const Answer to = answer_of(side_, batch_, rank);
    run_ = to.run;
    const compll::Codec& second = side_.codec(Hop::kSecond);
    if (lane_ != nullptr && sums_.of(rank).is_empty()) {
      CASYNC_RETURN_IF_ERROR(lane_->stream->fill(sums_.of(rank).memory(), std::byte{0}));
    }
    lists_.terms.push_back({{}, sums_.of(rank).memory()});
    KernelCall call;
    call.n = n_;
    call.outcome = take_outcome(0);
    call.context =
        context_of(side_.self, side_.related.outer()->key, answering_.of(batch_).batches().answered_step(rank),
                   second.info(), KeptBy::kMerge, answering_.of(batch_).slice(), tasks_.seed);
    KernelCall nothing = call;
    call.function = KernelFunction::kMerge;
    call.terms = lists_.terms;
    call.scale = side_.scale.scale_or(tasks_.scale);
    call.out = take_vector(n_ * sizeof(float));
    if (sums_.has_residuals()) {
      call.kept_in = sums_.of(rank).residual();
      call.kept_out = sums_.of(rank).next_residual();
      call.kept_stride = n_;
    }
    nothing.function = KernelFunction::kEncodeSum;
    nothing.in = sums_.of(rank).memory();
    nothing.scale = 0;  // makes zeros of what is finite
    if (lane_ != nullptr) return make_payload(second, to.buffer, sums_.of(rank).is_whole() ? call : nothing);
    CASYNC_RETURN_IF_ERROR(make_payload(second, to.buffer, call));
    nothing.payload = call.payload;
    return launch(second, nothing);
  }

 private:
  /// Residuals of answers are float32, in two places, whatever the plan says of this rank's own.
  Status launch_encode(const compll::Codec& codec, const KernelCall& call) override { return launch(codec, call); }

  /// Brings a contribution to the device: its elements or, with a call that decodes it, the place for them.
  Status read(Rank rank) {
    if (rank == side_.self) {
      CASYNC_RETURN_IF_ERROR(wait_for(*side_.related.outer()));
      own_ = lists_.sums.size();
      lists_.sums.push_back(side_.related.outer()->device.memory(answering_.of(batch_).slice()));
      return Status::ok();
    }
    const BufferId buffer = answering_.of(batch_).messages(rank).contribution;
    if (lane_ != nullptr) {
      if (!side_.state(buffer).finite) return Status::ok();
      CASYNC_RETURN_IF_ERROR(answering_.of(batch_).check(side_, rank));
    }
    DeviceView payload;
    CASYNC_RETURN_IF_ERROR(bring(side_, buffer, &payload));
    if (side_.codec(Hop::kFirst).info().identity) {
      lists_.sums.push_back(payload.slice(0, n_ * sizeof(float)));
      return Status::ok();
    }
    lists_.terms.push_back({payload, {}});
    KernelCall decode;
    decode.function = KernelFunction::kDecode;
    decode.n = n_;
    decode.outcome = take_outcome(0);
    decode.out = take_vector(n_ * sizeof(float));
    lists_.calls.push_back(decode);
    lists_.sums.push_back(decode.out);
    return Status::ok();
  }

  Status decode() {
    if (lists_.calls.empty()) return Status::ok();
    for (std::size_t i = 0; i < lists_.calls.size(); ++i) lists_.calls[i].terms = {&lists_.terms[i], 1};
    return launch_all(side_.codec(Hop::kFirst), lists_.calls);
  }

  /// Makes what is added of each contribution, and tells the host which of them are not finite.
  Status look() {
    const compll::Codec& contribution = answering_.on_device()->contribution();
    lists_.calls.clear();
    for (std::size_t i = 0; i < lists_.sums.size(); ++i) {
      KernelCall call;
      call.n = n_;
      call.in = lists_.sums[i];
      if (own_ == i) call.in_type = side_.spec.dtype;
      call.payload = take_vector(contribution.encoded_bound(n_));
      lists_.payloads.push_back(call.payload);
      lists_.calls.push_back(call);
    }
    CASYNC_RETURN_IF_ERROR(launch_all(contribution, lists_.calls));
    for (std::size_t i = 0; lane_ != nullptr && i < lists_.payloads.size(); ++i) {
      const DeviceView head = lists_.payloads[i].slice(0, kDevicePayloadHead);
      CASYNC_RETURN_IF_ERROR(download(head, heads_.slice(i * kHeadDistance, kDevicePayloadHead)));
    }
    return Status::ok();
  }

  /// Adds them to each sum, in their order.
  Status add() {
    lists_.terms.clear();
    lists_.calls.clear();
    for (Rank rank = 0; rank < sums_.ranks(); ++rank) {
      if (!sums_.of(rank).is_needed()) continue;
      if (!is_empty(rank)) lists_.terms.push_back({{}, sums_.of(rank).memory()});
      for (const DeviceView payload : lists_.payloads) {
        lists_.terms.push_back({{}, payload.slice(kDevicePayloadHead, n_ * sizeof(float))});
      }
    }
    const KernelTerm* at = lists_.terms.data();
    for (Rank rank = 0; rank < sums_.ranks(); ++rank) {
      if (!sums_.of(rank).is_needed()) continue;
      const std::size_t count = lists_.payloads.size() + (is_empty(rank) ? 0 : 1);
      KernelCall call;
      call.function = KernelFunction::kDecode;
      call.n = n_;
      call.terms = {at, count};
      call.out = sums_.of(rank).memory();
      lists_.calls.push_back(call);
      at += count;
    }
    return lists_.calls.empty() ? Status::ok() : launch_all(side_.codec(Hop::kSum), lists_.calls);
  }
  bool is_empty(Rank rank) const { return lane_ != nullptr && sums_.of(rank).is_empty(); }

  const LaneTasks& tasks_;
  GradientRun& side_;
  const TaskId batch_;
  Answering& answering_;
  const DeviceSums& sums_;
  const Elements n_;
  View heads_;
  std::optional<std::size_t> own_;  ///< the place of this rank's own elements among the contributions
};

/// Tells the sums of the contributions that a task has taken.
void end_taking(const LaneRoom& room, const DeviceLane& lane, GradientRun& side, TaskId batch) {
  const Answering& answering = *side.answering;
  bool added = false, left_out = false;
  const std::byte* head = lane.pinned->view().data + room.plain_at();
  for (const Rank rank : answering.of(batch).batches().taken()) {
    const bool came = rank == side.self || side.state(answering.of(batch).messages(rank).contribution).finite;
    const bool finite = came && compll::says_finite(head);
    if (came) head += kHeadDistance;
    (finite ? added : left_out) = true;
  }
  side.answering->on_device()->sums(batch).took(added, left_out);
}

/// The outcome of a lane that has made the answer to a rank.
TaskOutcome end_answer(const LaneRoom& room, DeviceLane& lane, GradientRun& side, TaskId batch, Rank rank) {
  const compll::Codec& second = side.codec(Hop::kSecond);
  const Answer to = answer_of(side, batch, rank);
  const bool identity = second.info().identity;
  const std::byte* const head = identity ? lane.pinned->view().data : to.run->state(to.buffer).memory.data;
  const Bytes bytes =
      compll::size_varies(second) ? lane.outcome_of(room, 0).coding.bytes : to.run->buffers.bound_of(to.buffer);
  SumOfRank& sum = side.answering->on_device()->sums(batch).of(rank);
  const bool finite = sum.is_whole() && compll::says_finite(head);
  sum.answered(finite);
  return {Status::ok(), bytes, finite};
}

}  // namespace

Result<LaneRoom> room_of_answer_task(const LaneTasks& tasks, GradientRun& side, TaskId task) {
  const DeviceAnswers& answers = *side.answering->on_device();
  const LaneRoom none;
  LaneLists lists;
  AnswerQueue queue(tasks, none, nullptr, lists, side, answers.batch_of(task));
  const std::optional<Rank> rank = answers.addressee(task);
  CASYNC_RETURN_IF_ERROR(rank ? queue.answer(*rank) : queue.take());
  return queue.plan();
}

Status queue_answer_task(const LaneTasks& tasks, const LaneRoom& room, DeviceLane& lane) {
  GradientRun& side = *lane.tasks[0].run;
  const DeviceAnswers& answers = *side.answering->on_device();
  const TaskId task = lane.tasks[0].task;
  AnswerQueue queue(tasks, room, &lane, lane.lists, side, answers.batch_of(task));
  const std::optional<Rank> rank = answers.addressee(task);
  return rank ? queue.answer(*rank) : queue.take();
}

TaskOutcome end_answer_task(const LaneRoom& room, DeviceLane& lane) {
  GradientRun& side = *lane.tasks[0].run;
  const DeviceAnswers& answers = *side.answering->on_device();
  const TaskId task = lane.tasks[0].task, batch = answers.batch_of(task);
  if (const std::optional<Rank> rank = answers.addressee(task)) return end_answer(room, lane, side, batch, *rank);
  end_taking(room, lane, side, batch);
  return {};
}

}  // namespace casync::runtime
