// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/task_runner.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "compll/ops/cpu/convert.h"

namespace casync::runtime {
namespace {

/// The elements of `slice` as float32: the gradient's memory itself, or a converted copy in `scratch`.
const float* float_values(const GradientRun& run, Slice slice, Scratch& scratch) {
  const View memory = run.memory(slice);
  if (run.is_float32()) return reinterpret_cast<const float*>(memory.data);
  compll::to_float32(run.spec.dtype, memory.data, slice.count, scratch.values.data());
  return scratch.values.data();
}

/// Two ranks that rounded by the same random numbers would err alike, and so would an owner that rounds their sum by
/// them again: the mean would not come out right. So each draws its own, but where a codec wants them shared.
compll::EncodeContext context_of(const GradientRun& run, const compll::CodecInfo& codec, GradientRun::KeptBy use,
                                 Slice slice, std::uint64_t seed) {
  const std::uint64_t who = 3 * static_cast<std::uint64_t>(run.self) + static_cast<std::uint64_t>(use);
  const std::uint64_t own = seed + (who + 1) * 0xd1342543de82ef95;  // odd: no two become one
  return {codec.shared_numbers ? seed : own, run.key, run.step, slice.first};
}

Status check_arrived(GradientRun& run, BufferId id) {
  GradientRun::BufferState& state = run.state(id);
  if (!state.unchecked) return Status::ok();
  state.unchecked = false;
  Status status = run.codec_of(id).check({state.memory.data, state.bytes}, run.slice_of(id).count);
  if (status.is_ok()) return status;
  return data_loss("message from rank " + std::to_string(run.sender_of(id)) + " (gradient " + run.spec.name +
                   ", step " + std::to_string(run.step) + ", partition " + std::to_string(run.partition_of(id)) +
                   "): not a payload of its codec: " + status.message());
}

TaskOutcome run_encode(GradientRun& run, const Encode& encode, std::uint64_t seed, Scratch& scratch) {
  const compll::Codec& codec = run.codec_of(encode.to);
  GradientRun::BufferState& out = run.state(encode.to);
  const compll::Encoded made =
      codec.encode(float_values(run, encode.from, scratch), encode.from.count,
                   run.kept(codec, GradientRun::KeptBy::kEncode, encode.from),
                   context_of(run, codec.info(), GradientRun::KeptBy::kEncode, encode.from, seed), out.memory.data);
  return {Status::ok(), made.size, made.finite};
}

TaskOutcome run_merge(GradientRun& run, const Merge& merge, std::uint64_t seed, float scale, Scratch& scratch) {
  scratch.contributions.clear();
  bool finite = true;
  const compll::Codec* in_codec = &run.codec(Hop::kFirst);  // of all codes; matters only where there is one
  for (const std::optional<BufferId>& one : merge.contributions) {
    if (!one) {
      scratch.contributions.push_back({{}, float_values(run, merge.local, scratch)});
      continue;
    }
    if (Status status = check_arrived(run, *one); !status) return {std::move(status), 0, true};
    const GradientRun::BufferState& state = run.state(*one);
    if (run.hop_of(*one) == Hop::kSum) {
      scratch.contributions.push_back({{}, reinterpret_cast<const float*>(state.memory.data)});
    } else {
      scratch.contributions.push_back({ConstView(state.memory.data, state.bytes), nullptr});
      in_codec = &run.codec_of(*one);
    }
    finite = finite && state.finite;
  }
  const Slice slice = run.slice_of(merge.to);
  const compll::Codec& out_codec = run.codec_of(merge.to);
  // A sum on its way to the owner is a contribution there, as a gradient is.
  const auto use = run.hop_of(merge.to) == Hop::kFirst ? GradientRun::KeptBy::kEncode : GradientRun::KeptBy::kMerge;
  const compll::Encoded made = in_codec->merge(
      scratch.contributions, slice.count, merge.last ? scale : 1.0f, out_codec, run.kept(out_codec, use, slice),
      context_of(run, out_codec.info(), use, slice, seed), run.state(merge.to).memory.data);
  return {Status::ok(), made.size, finite && made.finite};
}

TaskOutcome run_decode(GradientRun& run, const Decode& decode, std::uint64_t seed, Scratch& scratch) {
  GradientRun::BufferState& state = run.state(decode.from);
  if (Status status = check_arrived(run, decode.from); !status) return {std::move(status), 0, true};
  const ConstView payload(state.memory.data, state.bytes);
  const compll::Codec& codec = run.codec_of(decode.from);
  const View out = run.memory(decode.to);
  float* const values = run.is_float32() ? reinterpret_cast<float*>(out.data) : scratch.values.data();
  codec.decode(payload, decode.to.count, values);
  if (const compll::Codec& first = run.codec(Hop::kFirst); first.info().has_result) {
    first.result(values, decode.to.count, run.kept(first, GradientRun::KeptBy::kResult, decode.to),
                 {seed, run.key, run.step, decode.to.first}, values);
  }
  if (!run.is_float32()) {
    compll::from_float32(scratch.values.data(), decode.to.count, run.spec.dtype, out.data);
  }
  return {Status::ok(), state.bytes, state.finite};
}

bool all_finite(const View& floats) {
  const auto* const values = reinterpret_cast<const float*>(floats.data);
  return std::all_of(values, values + floats.size / sizeof(float), [](float x) { return std::isfinite(x); });
}

TaskOutcome run_turn(GradientRun& run, std::uint64_t seed, Scratch& scratch) {
  RoundsRun& rounds = *run.rounds;
  const Slice all{0, run.elements};
  std::array<float*, compll::kMostRounds> exchanged;
  TaskOutcome outcome;
  for (std::size_t i = 0; i < rounds.exchanged.size(); ++i) {
    exchanged[i] = reinterpret_cast<float*>(rounds.exchanged[i]->view().data);
    // All ranks have the same of each, so they say the same.
    if (rounds.is_last()) outcome.finite = outcome.finite && all_finite(rounds.exchanged[i]->view());
  }
  const float* const gradient = float_values(run, all, scratch);
  const auto kept = [&](int which) {
    return run.kept_floats() == 0 ? nullptr : reinterpret_cast<float*>(run.kept_memory[which]->view().data);
  };
  float* const out = run.is_float32() ? reinterpret_cast<float*>(run.memory(all).data) : scratch.values.data();
  rounds.codec->turn({.number = rounds.turn,
                      .rows = rounds.rows,
                      .columns = rounds.columns,
                      .gradient = gradient,
                      .exchanged = {exchanged.data(), rounds.exchanged.size()},
                      .states_in = kept(run.committed),
                      .states_out = kept(1 - run.committed),
                      .scratch = reinterpret_cast<float*>(rounds.scratch->view().data),
                      .out = rounds.is_last() ? out : nullptr},
                     context_of(run, rounds.codec->info(), GradientRun::KeptBy::kEncode, all, seed));
  if (rounds.is_last() && !run.is_float32()) {
    compll::from_float32(out, run.elements, run.spec.dtype, run.memory(all).data);
  }
  return outcome;
}

}  // namespace

TaskOutcome run_instant_task(GradientRun& run, TaskId task) {
  const Primitive& primitive = run.graph.tasks()[TaskGraph::index(task)];
  if (const auto* encode = std::get_if<Encode>(&primitive)) {
    return {Status::ok(), encode->from.count * sizeof(float), true};
  }
  const GradientRun::BufferState& from = run.state(std::get<Decode>(primitive).from);
  return {Status::ok(), from.bytes, from.finite};
}

TaskOutcome run_task(GradientRun& run, TaskId task, std::uint64_t seed, float scale, Scratch& scratch) {
  if (run.rounds) return run_turn(run, seed, scratch);
  const Primitive& primitive = run.graph.tasks()[TaskGraph::index(task)];
  if (const auto* encode = std::get_if<Encode>(&primitive)) return run_encode(run, *encode, seed, scratch);
  if (const auto* merge = std::get_if<Merge>(&primitive)) return run_merge(run, *merge, seed, scale, scratch);
  const auto* decode = std::get_if<Decode>(&primitive);
  CASYNC_CHECK(decode != nullptr);
  return run_decode(run, *decode, seed, scratch);
}

void reserve_scratch(const GradientRun& run, int ranks, Scratch& scratch) {
  scratch.contributions.reserve(static_cast<std::size_t>(ranks));
  if (run.is_float32()) return;
  Elements most = std::max<Elements>(scratch.values.size(), run.rounds ? run.elements : 0);
  for (const Buffer& buffer : run.graph.buffers()) most = std::max(most, buffer.slice.count);
  scratch.values.resize(most);
}

}  // namespace casync::runtime
