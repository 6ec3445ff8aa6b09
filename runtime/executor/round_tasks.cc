// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/round_tasks.h"

#include <variant>

namespace casync::runtime {

using Kind = RoundPart::Kind;

RoundTasks::RoundTasks(std::span<GradientRun* const> runs, const Settings& settings, const RoundPayloads& payloads,
                       RoundHeads& heads, RoundRoom& room)
    : KernelQueue(settings.kernels, {settings.seed, settings.scale}),
      runs_(runs),
      scale_(settings.scale),
      payloads_(payloads),
      heads_(heads),
      room_(room) {}

Status RoundTasks::plan(const RoundPart& part) {
  stream_ = nullptr;
  CASYNC_RETURN_IF_ERROR(carry_out(part));
  if (part.kind != Kind::kTask) return Status::ok();
  const std::uint32_t gradient = part.task.gradient;
  const TaskGraph& graph = runs_[gradient]->graph;
  const Primitive& primitive = graph.tasks()[TaskGraph::index(part.task.task)];
  const auto* const merge = std::get_if<Merge>(&primitive);
  const auto* const encode = std::get_if<Encode>(&primitive);
  if (merge == nullptr && encode == nullptr) return Status::ok();
  const BufferId made = merge != nullptr ? merge->to : encode->to;
  if (heads_.reserve(gradient, graph.buffers()[TaskGraph::index(made)])) return Status::ok();
  return unimplemented("its strategy makes several payloads of a partition, which rounds do not do");
}

Status RoundTasks::issue(const RoundPart& part, Stream& stream) {
  stream_ = &stream;
  return carry_out(part);
}

Status RoundTasks::carry_out(const RoundPart& part) {
  const std::uint32_t gradient = gradient_ = part.task.gradient;
  room_.begin_task();
  if (part.kind == Kind::kTurn) return turn(*runs_[gradient], part.number);
  if (part.kind == Kind::kScale) return scale(gradient, part.number);
  const Primitive& primitive = runs_[gradient]->graph.tasks()[TaskGraph::index(part.task.task)];
  if (const auto* encode = std::get_if<Encode>(&primitive)) return this->encode(gradient, *encode);
  if (const auto* merge = std::get_if<Merge>(&primitive)) return this->merge(gradient, *merge);
  return decode(gradient, std::get<Decode>(primitive));
}

/// Elements that travel as they are say nothing of themselves: the merge looks.
Status RoundTasks::encode(std::uint32_t gradient, const Encode& encode) {
  const GradientRun& run = *runs_[gradient];
  const compll::Codec& codec = run.codec_of(encode.to);
  if (codec.info().identity) return copy(run.device.memory(encode.from), payloads_.message(gradient, encode.to));
  KernelCall call = calls().encode(run, codec, encode.from);
  return make_payload(gradient, encode.to, call);
}

Status RoundTasks::merge(std::uint32_t gradient, const Merge& merge) {
  const GradientRun& run = *runs_[gradient];
  const compll::Codec* in = nullptr;
  terms_.clear();
  for (const std::optional<BufferId>& one : merge.contributions) {
    if (!one) {
      terms_.push_back(own_term(run, merge.local));
    } else {
      terms_.push_back(payloads_.term(gradient, *one));
      if (const compll::Codec& codec = run.codec_of(*one); !codec.info().identity) in = &codec;
    }
  }
  KernelCall call;
  CASYNC_RETURN_IF_ERROR(begin_merge(run, merge, terms_, in, {}, &call));
  return make_payload(gradient, merge.to, call);
}

Status RoundTasks::decode(std::uint32_t gradient, const Decode& decode) {
  const GradientRun& run = *runs_[gradient];
  const compll::Codec& codec = run.codec_of(decode.from);
  const DecodedSlice out = decoded(run, decode.to);
  if (codec.info().identity && out.dtype == DType::kFloat32) {
    CASYNC_RETURN_IF_ERROR(copy(payloads_.message(gradient, decode.from), out.memory));
  } else {
    terms_.assign(1, payloads_.term(gradient, decode.from));
    CASYNC_RETURN_IF_ERROR(launch(codec, KernelCalls::decode(decode.to, terms_, out)));
  }
  return end_decode(run, decode.to, out);
}

/// Scales what the all-reduce has summed, and looks if all of it is finite.
Status RoundTasks::scale(std::uint32_t gradient, std::uint32_t exchange) {
  const GradientRun& run = *runs_[gradient];
  const GradientRun& of = run.rounds ? *run.rounds->exchanges()[exchange] : run;
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
  CASYNC_RETURN_IF_ERROR(copy(call.payload.slice(0, kDevicePayloadHead), heads_.of_sum(gradient, exchange)));
  return copy(call.payload.slice(kDevicePayloadHead, bytes), values);
}

Status RoundTasks::make_payload(std::uint32_t gradient, BufferId to, KernelCall& call) {
  const GradientRun& run = *runs_[gradient];
  call.payload = payloads_.payload(gradient, to);
  CASYNC_RETURN_IF_ERROR(launch_keeping(run, run.codec_of(to), call));
  const DeviceView head = heads_.of_payload(gradient, run.graph.buffers()[TaskGraph::index(to)]);
  return copy(call.payload.slice(0, head.size()), head);
}

template <class Kernels, class Call>
Status RoundTasks::queue_call(Kernels& kernels, const Call& call) {
  if (stream_ == nullptr) {
    const Result<KernelRoom> room = kernels.room(call);
    if (!room) return room.status();
    room_.add_call(*room);
    return Status::ok();
  }
  const RoundRoom::Call memory = room_.next_call();
  return kernels.issue(call, memory.device, memory.pinned, *stream_);
}

Status RoundTasks::queue(CodecKernels& kernels, std::span<const KernelCall> batch) {
  return queue_call(kernels, batch);
}
Status RoundTasks::queue(TurnKernels& kernels, const TurnCall& call) { return queue_call(kernels, call); }

}  // namespace casync::runtime
