// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/batch_lane.h"

#include <optional>
#include <span>
#include <vector>

#include "base/check.h"
#include "casync/graph/access.h"
#include "compll/codec/coded/coded_codec.h"
#include "runtime/executor/lane_queue.h"
#include "runtime/executor/task_runner.h"

namespace casync::runtime {
namespace {

const Primitive& primitive_of(const LaneTask& one) { return one.run->graph.tasks()[TaskGraph::index(one.task)]; }

/// The buffer of the task's payload, which has its codec.
BufferId encoded_buffer(const Primitive& primitive) {
  if (const auto* decode = std::get_if<Decode>(&primitive)) return decode->from;
  return *written_buffer(primitive);
}

class BatchQueue final : public LaneQueue {
 public:
  BatchQueue(const LaneTasks& tasks, const LaneRoom& room, DeviceLane* lane, LaneLists& lists)
      : LaneQueue(tasks, room, lane, lists) {}

  Status make(std::vector<LaneTask>& batch) {
    for (const LaneTask& one : batch) CASYNC_RETURN_IF_ERROR(wait_for(*one.run));
    for (const LaneTask& one : batch) {
      if (Status status = add(*one.run, primitive_of(one)); !status) {
        batch.assign(1, LaneTask(one));  // the error is told of these
        return status;
      }
    }
    give_terms(batch);
    CASYNC_RETURN_IF_ERROR(launch_all(batch[0].run->codec_of(encoded_buffer(primitive_of(batch[0]))), lists_.calls));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::optional<BufferId> made = written_buffer(primitive_of(batch[i]));
      if (!made || compll::size_varies(batch[i].run->codec_of(*made))) continue;
      CASYNC_RETURN_IF_ERROR(download(lists_.calls[i].payload, batch[i].run->state(*made).memory));
    }
    return Status::ok();
  }

 private:
  Status add(GradientRun& run, const Primitive& primitive) {
    if (const auto* encode = std::get_if<Encode>(&primitive)) return add(run, *encode);
    if (const auto* merge = std::get_if<Merge>(&primitive)) return add(run, *merge);
    return add(run, std::get<Decode>(primitive));
  }

  Status add(GradientRun& run, const Encode& encode) {
    KernelCall call = calls().encode(run, run.codec_of(encode.to), encode.from);
    call.payload = take_payload(run, encode.to);
    return add(call);
  }

  Status add(GradientRun& run, const Merge& merge) {
    for (const std::optional<BufferId>& one : merge.contributions) {
      if (one) {
        CASYNC_RETURN_IF_ERROR(bring_term(run, *one));
      } else {
        lists_.terms.push_back(own_term(run, merge.local));
      }
    }
    KernelCall call;
    CASYNC_RETURN_IF_ERROR(begin_merge(run, merge, {}, nullptr, {}, &call));  // give_terms() gives them, of one codec
    call.payload = take_payload(run, merge.to);
    return add(call);
  }

  Status add(GradientRun& run, const Decode& decode) {
    CASYNC_RETURN_IF_ERROR(bring_term(run, decode.from));
    return add(KernelCalls::decode(decode.to, {}, decoded(run, decode.to)));
  }

  Status add(KernelCall call) {
    call.outcome = take_outcome(lists_.calls.size());
    lists_.calls.push_back(call);
    return Status::ok();
  }

  /// Gives each call its terms, which are listed in the order of the tasks.
  void give_terms(std::span<const LaneTask> batch) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      std::size_t count = std::holds_alternative<Decode>(primitive_of(batch[i])) ? 1 : 0;
      if (const auto* merge = std::get_if<Merge>(&primitive_of(batch[i]))) count = merge->contributions.size();
      lists_.calls[i].terms = {lists_.terms.data() + at, count};
      at += count;
    }
    CASYNC_CHECK(at == lists_.terms.size());
  }
};

}  // namespace

BatchKind batch_kind_of(const LaneTasks& tasks, const GradientRun& run, TaskId task) {
  BatchKind alone;
  if (run.parts || run.rounds || run.answering) return alone;
  const LaneRoom& room = run.device.room_of(task);
  if (room.launched != 1 || room.plain != 0) return alone;
  const Primitive& primitive = run.graph.tasks()[TaskGraph::index(task)];
  const BufferId buffer = encoded_buffer(primitive);
  const compll::Codec& codec = run.codec_of(buffer);
  if (codec.info().identity) return alone;
  BatchKind kind{&tasks.kernels.of(codec), KernelFunction::kDecode, run.step.number(), false, 0};
  if (std::holds_alternative<Decode>(primitive)) return kind;
  const bool merges = std::holds_alternative<Merge>(primitive);
  kind.function = merges ? KernelFunction::kMerge : KernelFunction::kEncode;
  const KeptBy use = merges ? kept_by_merge(run, buffer) : KeptBy::kEncode;
  kind.seed = context_of(run, codec.info(), use, run.buffers.of(buffer).slice, tasks.seed).seed;
  kind.keeps = codec.info().states != 0 && !run.kept.of(codec, use, run.buffers.of(buffer).slice).in.is_null();
  return kind.keeps && run.kept.memory() != ResidualMemory::kTwoBuffers ? alone : kind;
}

Status queue_batch(const LaneTasks& tasks, const LaneRoom& room, DeviceLane& lane) {
  return BatchQueue(tasks, room, &lane, lane.lists).make(lane.tasks);
}

}  // namespace casync::runtime
