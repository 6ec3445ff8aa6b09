// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/round_bucket.h"

#include <string>
#include <utility>

namespace casync::runtime {

using Kind = RoundPart::Kind;

RoundBucket::RoundBucket(Bucket bucket, std::span<GradientRun* const> runs, const RoundTasks::Settings& settings)
    : bucket_(std::move(bucket)),
      members_(runs),
      parts_(parts_of(bucket_, runs)),
      payloads_(runs, all_reduced_of(bucket_)),
      heads_(runs, all_reduced_of(bucket_)),
      tasks_(members_.runs(), settings, payloads_, heads_, room_) {}

/// Goes through all tasks without a stream, and finds out what they take.
Status RoundBucket::plan() {
  for (const RoundPart& part : parts_) {
    if (part.kind != Kind::kTask && part.kind != Kind::kTurn && part.kind != Kind::kScale) continue;
    const Status status = tasks_.plan(part);
    if (status) continue;
    return Status(status.code(),
                  "gradient " + members_.runs()[part.task.gradient]->spec.name + ": " + status.message());
  }
  return Status::ok();
}

Status RoundBucket::open(Device& device) {
  CASYNC_RETURN_IF_ERROR(plan());
  const Bytes payloads = payloads_.bytes(), heads = heads_.bytes();
  auto memory = device.allocate(payloads + heads + room_.device_bytes(), Memory::kDevice);
  if (!memory) return memory.status();
  auto pinned = device.allocate(room_.pinned_bytes() + heads, Memory::kPinned);
  if (!pinned) return pinned.status();
  auto end = device.make_event();
  if (!end) return end.status();
  memory_ = std::move(*memory);
  pinned_ = std::move(*pinned);
  end_ = std::move(*end);
  const DeviceView all = memory_->device();
  const View host = pinned_->view();
  payloads_.place(all.slice(0, payloads));
  heads_.place(all.slice(payloads, heads), host.slice(room_.pinned_bytes(), heads));
  room_.place(all.slice(payloads + heads, room_.device_bytes()), host.slice(0, room_.pinned_bytes()));
  exchanges_.take_in(bucket_, members_.runs(), payloads_);
  return Status::ok();
}

Status RoundBucket::issue(std::size_t part, Stream& stream, RoundTransport& transport) {
  const Status status = queue(parts_[part], stream, transport);
  if (status) return status;
  const GradientRun& run = *members_.runs()[parts_[part].task.gradient];
  return Status(status.code(),
                "gradient " + run.spec.name + ", step " + std::to_string(run.step.number()) + ": " + status.message());
}

Status RoundBucket::queue(const RoundPart& part, Stream& stream, RoundTransport& transport) {
  switch (part.kind) {
    case Kind::kBegin:
      room_.begin_step();
      for (const GradientRun* run : members_.runs()) {
        if (run->device.ready() != nullptr) CASYNC_RETURN_IF_ERROR(stream.wait_for(*run->device.ready()));
      }
      return heads_.clear(stream);
    case Kind::kTask:
    case Kind::kTurn:
    case Kind::kScale: return tasks_.issue(part, stream);
    case Kind::kExchange: return exchanges_.exchange(part.number, transport);
    case Kind::kAllReduce: {
      const GradientRun& run = *members_.runs()[part.task.gradient];
      return transport.all_reduce(RoundTasks::reduced(run, part.number), Reduction::kSumOfFloats);
    }
    case Kind::kAgree: return heads_.agree(transport);
    case Kind::kEnd: CASYNC_RETURN_IF_ERROR(heads_.download(stream)); return stream.record(*end_);
  }
  return Status::ok();
}

Result<bool> RoundBucket::is_over() {
  const std::vector<GradientRun*>& runs = members_.runs();
  const Result<bool> over = end_->done();
  if (!over) {
    return Status(over.status().code(), "gradient " + runs[0]->spec.name + ", step " +
                                            std::to_string(runs[0]->step.number()) + ": " + over.status().message());
  }
  if (!*over) return false;
  for (std::uint32_t g = 0; g < runs.size(); ++g) runs[g]->step.note_finite(heads_.say_finite(g));
  return true;
}

}  // namespace casync::runtime
