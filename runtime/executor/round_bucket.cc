// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/round_bucket.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "compll/codec/payload.h"
#include "runtime/executor/task_runner.h"

namespace casync::runtime {
namespace {

constexpr Bytes kAlignment = 256;
// A payload's head, or what an identity's kernel says of its elements.
constexpr Bytes kSlot = compll::kHeaderBytes;
static_assert(kSlot == kDevicePayloadHead);

using Use = GradientRun::KeptBy;

constexpr std::size_t kHops = 4;

std::size_t slot_of(const Buffer& buffer) { return kHops * buffer.partition + static_cast<std::size_t>(buffer.hop); }

}  // namespace

RoundBucket::RoundBucket(Bucket bucket, std::span<GradientRun* const> runs, const Settings& settings)
    : KernelQueue(settings.kernels, {settings.seed, settings.scale}),
      bucket_(std::move(bucket)),
      runs_(runs.begin(), runs.end()),
      scale_(settings.scale),
      all_reduced_(runs.size()),
      is_taken_(runs.size()) {
  const auto here = [&](RoundTask task) {
    task.gradient -= bucket_.first_gradient;
    return task;
  };
  parts_.push_back({Part::kBegin, 0, {}});
  for (std::uint32_t r = 0; r < bucket_.rounds.size(); ++r) {
    const Round& round = bucket_.rounds[r];
    for (const RoundTask& task : round.tasks) parts_.push_back({Part::kTask, r, here(task)});
    if (!round.sends.empty() || !round.recvs.empty()) parts_.push_back({Part::kExchange, r, {}});
    for (const std::uint32_t g : round.all_reduced) add_all_reduced(r, g - bucket_.first_gradient);
  }
  parts_.push_back({Part::kAgree, 0, {}});
  parts_.push_back({Part::kEnd, 0, {}});
}

/// The parts of a gradient that is all-reduced, or whose codec exchanges what it makes in its turns.
void RoundBucket::add_all_reduced(std::uint32_t round, std::uint32_t gradient) {
  all_reduced_[gradient] = true;
  const RoundTask task{gradient, {}};
  const GradientRun& run = *runs_[gradient];
  if (!run.rounds) {
    parts_.push_back({Part::kAllReduce, round, task});
    parts_.push_back({Part::kScale, 0, task});
    return;
  }
  const auto last = static_cast<std::uint32_t>(run.rounds->exchanges.size());
  for (std::uint32_t number = 0; number < last; ++number) {
    for (const Part part : {Part::kTurn, Part::kAllReduce, Part::kScale}) parts_.push_back({part, number, task});
  }
  parts_.push_back({Part::kTurn, last, task});
}

/// Places each payload. A slot for each partition and hop, on all ranks the same.
void RoundBucket::lay_out() {
  std::size_t slots = 0;
  for (std::size_t g = 0; g < runs_.size(); ++g) {
    const GradientRun& run = *runs_[g];
    first_slot_.push_back(slots);
    const std::size_t reductions = run.rounds ? run.rounds->exchanges.size() : 1;
    slots += all_reduced_[g] ? reductions : kHops * static_cast<std::size_t>(run.decision.partitions);
    std::vector<std::pair<Bytes, Bytes>>& places = places_.emplace_back();
    for (std::size_t b = 0; !all_reduced_[g] && b < run.graph.buffers().size(); ++b) {
      const BufferId id = BufferId(static_cast<std::uint32_t>(b));
      const Bytes bytes = head_of(run.codec_of(id)) + run.bound_of(id);
      places.emplace_back(payload_bytes_, bytes);
      payload_bytes_ += round_up(bytes, kAlignment);
    }
  }
  first_slot_.push_back(slots);
}

void RoundBucket::find_pieces() {
  for (const Round& round : bucket_.rounds) {
    Pieces& pieces = pieces_.emplace_back();
    const auto add = [&](const RoundTask& task) {
      const std::uint32_t g = task.gradient - bucket_.first_gradient;
      const Primitive& primitive = runs_[g]->graph.tasks()[TaskGraph::index(task.task)];
      if (const auto* send = std::get_if<Send>(&primitive)) {
        pieces.sends.push_back({send->to, message(*runs_[g], g, send->from)});
      } else {
        const auto& recv = std::get<Recv>(primitive);
        pieces.recvs.push_back({recv.from, message(*runs_[g], g, recv.to)});
      }
    };
    for (const RoundTask& task : round.sends) add(task);
    for (const RoundTask& task : round.recvs) add(task);
  }
}

/// Goes through all tasks without a stream, and finds out what they take.
Status RoundBucket::plan() {
  std::vector<bool> is_filled(first_slot_.back());
  for (const Step& step : parts_) {
    GradientRun& run = *runs_[step.task.gradient];
    now_.vectors = 0;
    Status status;
    if (step.part == Part::kTask) status = queue_task(run, step.task.gradient, step.task.task);
    if (step.part == Part::kTurn) status = turn(run, step.round);
    if (step.part == Part::kScale) status = scale(run, step.task.gradient, step.round);
    if (!status) return Status(status.code(), "gradient " + run.spec.name + ": " + status.message());
    if (step.part != Part::kTask) continue;
    const Primitive& primitive = run.graph.tasks()[TaskGraph::index(step.task.task)];
    const auto* const merge = std::get_if<Merge>(&primitive);
    const auto* const encode = std::get_if<Encode>(&primitive);
    if (merge == nullptr && encode == nullptr) continue;
    const Buffer& made = run.graph.buffers()[TaskGraph::index(merge != nullptr ? merge->to : encode->to)];
    const std::size_t at = first_slot_[step.task.gradient] + slot_of(made);
    if (at >= first_slot_[step.task.gradient + 1] || is_filled[at]) {
      return unimplemented("gradient " + run.spec.name +
                           ": its strategy makes several payloads of a partition, which rounds do not do");
    }
    is_filled[at] = true;
  }
  return Status::ok();
}

Status RoundBucket::open(Device& device) {
  lay_out();
  CASYNC_RETURN_IF_ERROR(plan());
  const Bytes slots = round_up(first_slot_.back() * kSlot, kAlignment);
  auto memory = device.allocate(payload_bytes_ + slots + most_.vectors + most_.room, Memory::kDevice);
  if (!memory) return memory.status();
  auto pinned = device.allocate(now_.pinned + slots, Memory::kPinned);
  if (!pinned) return pinned.status();
  auto end = device.make_event();
  if (!end) return end.status();
  memory_ = std::move(*memory);
  pinned_ = std::move(*pinned);
  end_ = std::move(*end);
  most_.pinned = now_.pinned;
  find_pieces();
  return Status::ok();
}

void RoundBucket::take(const GradientRun& run) {
  const auto at = static_cast<std::size_t>(std::find(runs_.begin(), runs_.end(), &run) - runs_.begin());
  CASYNC_CHECK(at < runs_.size() && !is_taken_[at]);
  is_taken_[at] = true;
  ++taken_;
}

const GradientRun* RoundBucket::first_missing() const {
  const auto missing = std::find(is_taken_.begin(), is_taken_.end(), false);
  return missing == is_taken_.end() ? nullptr : runs_[static_cast<std::size_t>(missing - is_taken_.begin())];
}

void RoundBucket::reset() {
  std::fill(is_taken_.begin(), is_taken_.end(), false);
  taken_ = 0;
}

bool RoundBucket::calls_transport(std::size_t part) const {
  const Part kind = parts_[part].part;
  return kind == Part::kExchange || kind == Part::kAllReduce || kind == Part::kAgree;
}

Status RoundBucket::issue(std::size_t part, Stream& stream, RoundTransport& transport) {
  stream_ = &stream;
  const Step& step = parts_[part];
  const Status status = queue(step, transport);
  if (status) return status;
  const GradientRun& run = *runs_[step.task.gradient];
  return Status(status.code(),
                "gradient " + run.spec.name + ", step " + std::to_string(run.step) + ": " + status.message());
}

Status RoundBucket::queue(const Step& step, RoundTransport& transport) {
  const DeviceView slots = slot(0, 0).slice(0, first_slot_.back() * kSlot);
  switch (step.part) {
    case Part::kBegin:
      now_ = {};
      calls_ = 0;
      for (const GradientRun* run : runs_) {
        if (run->ready != nullptr) CASYNC_RETURN_IF_ERROR(stream_->wait_for(*run->ready));
      }
      return stream_->fill(slots, std::byte{0});
    case Part::kTask:
      now_.vectors = 0;
      return queue_task(*runs_[step.task.gradient], step.task.gradient, step.task.task);
    case Part::kExchange: {
      const Pieces& pieces = pieces_[step.round];
      messages_sent_ += pieces.sends.size();
      messages_received_ += pieces.recvs.size();
      for (const RoundPiece& piece : pieces.sends) bytes_sent_ += piece.memory.size();
      for (const RoundPiece& piece : pieces.recvs) bytes_received_ += piece.memory.size();
      return transport.exchange(pieces.sends, pieces.recvs);
    }
    case Part::kTurn: now_.vectors = 0; return turn(*runs_[step.task.gradient], step.round);
    case Part::kAllReduce: {
      const GradientRun& run = *runs_[step.task.gradient];
      return transport.all_reduce(reduced(run, run.rounds ? step.round : 0), Reduction::kSumOfFloats);
    }
    case Part::kScale: now_.vectors = 0; return scale(*runs_[step.task.gradient], step.task.gradient, step.round);
    case Part::kAgree: return transport.all_reduce(slots, Reduction::kMostOfBytes);
    case Part::kEnd:
      CASYNC_RETURN_IF_ERROR(stream_->download(slots, pinned_->view().slice(most_.pinned, slots.size())));
      return stream_->record(*end_);
  }
  return Status::ok();
}

Result<bool> RoundBucket::is_over() {
  const Result<bool> over = end_->done();
  if (!over) {
    return Status(over.status().code(), "gradient " + runs_[0]->spec.name + ", step " + std::to_string(runs_[0]->step) +
                                            ": " + over.status().message());
  }
  if (!*over) return false;
  for (std::size_t g = 0; g < runs_.size(); ++g) {
    for (std::size_t s = first_slot_[g]; s < first_slot_[g + 1]; ++s) {
      const std::byte* const head = pinned_->view().data + most_.pinned + s * kSlot;
      runs_[g]->finite = runs_[g]->finite && compll::says_finite(head);
    }
  }
  return true;
}

Status RoundBucket::queue_task(GradientRun& run, std::uint32_t gradient, TaskId task) {
  const Primitive& primitive = run.graph.tasks()[TaskGraph::index(task)];
  if (const auto* encode = std::get_if<Encode>(&primitive)) return this->encode(run, gradient, *encode);
  if (const auto* merge = std::get_if<Merge>(&primitive)) return this->merge(run, gradient, *merge);
  return decode(run, gradient, std::get<Decode>(primitive));
}

/// Elements that travel as they are say nothing of themselves: the merge looks.
Status RoundBucket::encode(GradientRun& run, std::uint32_t gradient, const Encode& encode) {
  const compll::Codec& codec = run.codec_of(encode.to);
  if (codec.info().identity) return copy(run.device_memory(encode.from), message(run, gradient, encode.to));
  KernelCall call = encode_call(run, codec, encode.from);
  return make_payload(run, gradient, encode.to, codec, call);
}

Status RoundBucket::merge(GradientRun& run, std::uint32_t gradient, const Merge& merge) {
  const compll::Codec* in = nullptr;
  terms_.clear();
  for (const std::optional<BufferId>& one : merge.contributions) {
    if (!one) {
      terms_.push_back(own_term(run, merge.local));
    } else {
      terms_.push_back(term(run, gradient, *one));
      if (const compll::Codec& codec = run.codec_of(*one); !codec.info().identity) in = &codec;
    }
  }
  KernelCall call;
  CASYNC_RETURN_IF_ERROR(begin_merge(run, merge, terms_, in, {}, &call));
  return make_payload(run, gradient, merge.to, run.codec_of(merge.to), call);
}

Status RoundBucket::decode(GradientRun& run, std::uint32_t gradient, const Decode& decode) {
  const compll::Codec& codec = run.codec_of(decode.from);
  const Decoded out = decoded(run, decode.to);
  if (codec.info().identity && out.dtype == DType::kFloat32) {
    CASYNC_RETURN_IF_ERROR(copy(message(run, gradient, decode.from), out.memory));
  } else {
    terms_.assign(1, term(run, gradient, decode.from));
    CASYNC_RETURN_IF_ERROR(launch(codec, decode_call(decode.to, terms_, out)));
  }
  return end_decode(run, decode.to, out);
}

DeviceView RoundBucket::reduced(const GradientRun& run, std::uint32_t exchange) {
  return run.rounds ? run.rounds->exchanged[exchange]->device() : run.device_data;
}

/// Scales what the all-reduce has summed, and looks if all of it is finite.
Status RoundBucket::scale(GradientRun& run, std::uint32_t gradient, std::uint32_t exchange) {
  const GradientRun& of = run.rounds ? *run.rounds->exchanges[exchange] : run;
  if (of.elements == 0) return Status::ok();
  const DeviceView values = reduced(run, exchange);
  const Bytes bytes = of.elements * sizeof(float);
  terms_.assign(1, {{}, values});
  KernelCall call;
  call.function = KernelFunction::kMerge;
  call.n = of.elements;
  call.terms = terms_;
  call.scale = scale_;
  call.payload = take_vector(kDevicePayloadHead + bytes);
  call.out = take_vector(bytes);
  CASYNC_RETURN_IF_ERROR(launch(of.codec(Hop::kSecond), call));
  CASYNC_RETURN_IF_ERROR(copy(call.payload.slice(0, kDevicePayloadHead), slot(gradient, exchange)));
  return copy(call.payload.slice(kDevicePayloadHead, bytes), values);
}

Status RoundBucket::make_payload(GradientRun& run, std::uint32_t gradient, BufferId to, const compll::Codec& codec,
                                 KernelCall& call) {
  call.payload = payload(gradient, to);
  CASYNC_RETURN_IF_ERROR(launch_keeping(run, codec, call));
  return copy(call.payload.slice(0, kSlot), slot(gradient, slot_of(run.graph.buffers()[TaskGraph::index(to)])));
}

/// Kernels follow each other in the stream, and have one room; what they are filled from is their own for the step.
template <class Kernels, class Call>
Status RoundBucket::queue_call(Kernels& kernels, const Call& call) {
  if (stream_ == nullptr) {
    const Result<KernelRoom> room = kernels.room(call);
    if (!room) return room.status();
    most_.room = std::max(most_.room, round_up(room->device, kAlignment));
    pinned_of_.push_back(round_up(room->pinned, kAlignment));
    now_.pinned += pinned_of_.back();
    return Status::ok();
  }
  const Bytes pinned = pinned_of_[calls_++];
  const DeviceView all = memory_->device();
  const View from = pinned_->view().slice(std::exchange(now_.pinned, now_.pinned + pinned), pinned);
  return kernels.issue(call, all.slice(all.size() - most_.room, most_.room), from, *stream_);
}

Status RoundBucket::queue(CodecKernels& kernels, std::span<const KernelCall> batch) {
  return queue_call(kernels, batch);
}
Status RoundBucket::queue(TurnKernels& kernels, const TurnCall& call) { return queue_call(kernels, call); }

Status RoundBucket::copy(DeviceView from, DeviceView to) {
  return stream_ == nullptr ? Status::ok() : stream_->copy(from, to);
}

DeviceView RoundBucket::take_vector(Bytes bytes) {
  const Bytes at = std::exchange(now_.vectors, now_.vectors + round_up(bytes, kAlignment));
  most_.vectors = std::max(most_.vectors, now_.vectors);
  if (stream_ == nullptr) return {kAlignment, bytes};
  return memory_->device().slice(memory_->device().size() - most_.room - most_.vectors + at, bytes);
}

DeviceView RoundBucket::payload(std::uint32_t gradient, BufferId buffer) const {
  const auto& [first, bytes] = places_[gradient][TaskGraph::index(buffer)];
  return memory_ == nullptr ? DeviceView(kAlignment, bytes) : memory_->device().slice(first, bytes);
}

DeviceView RoundBucket::message(const GradientRun& run, std::uint32_t gradient, BufferId buffer) const {
  const DeviceView whole = payload(gradient, buffer);
  const Bytes head = head_of(run.codec_of(buffer));
  return whole.slice(head, whole.size() - head);
}

/// A payload as a term of a sum. An identity's is raw elements, of float32.
KernelTerm RoundBucket::term(const GradientRun& run, std::uint32_t gradient, BufferId buffer) const {
  if (run.codec_of(buffer).info().identity) return {{}, message(run, gradient, buffer)};
  return {payload(gradient, buffer), {}};
}

DeviceView RoundBucket::slot(std::uint32_t gradient, std::size_t at) const {
  const DeviceView all = memory_ == nullptr ? DeviceView(kAlignment, 0) : memory_->device();
  return all.slice(payload_bytes_ + (first_slot_[gradient] + at) * kSlot, kSlot);
}

}  // namespace casync::runtime
