// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/task_runner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>

#include "base/check.h"
#include "compll/codec/coded/coded_codec.h"
#include "compll/codec/kept.h"
#include "compll/codec/payload.h"
#include "compll/ops/cpu/convert.h"
#include "runtime/device/host/host_view.h"
#include "runtime/executor/answering.h"

namespace casync::runtime {
namespace {

/// The elements of `slice` as float32: the gradient's memory itself, or a converted copy in `scratch`.
const float* float_values(const GradientRun& run, Slice slice, Scratch& scratch) {
  const View memory = run.memory(slice);
  if (run.is_float32()) return reinterpret_cast<const float*>(memory.data);
  compll::to_float32(run.spec.dtype, memory.data, slice.count, scratch.values.data());
  return scratch.values.data();
}

/// The state that a codec keeps of a slice, as floats for the time of one task.
class KeptSlice {
 public:
  KeptSlice(const GradientRun& run, const compll::Codec& codec, KeptBy use, Slice slice, Scratch& scratch)
      : count_(slice.count), scratch_(scratch) {
    const KeptState::Slices kept = run.kept.of(codec, use, slice);
    if (kept.in.is_null()) return;
    const std::byte* const in = host_view(kept.in).data;
    out_ = host_view(kept.out).data;
    if (run.kept.type() == DType::kBFloat16) {
      rounding_ = run.codecs->kept.get();
      compll::to_float32(DType::kBFloat16, in, count_, scratch.kept_in.data());
      floats_ = {scratch.kept_in.data(), scratch.kept_out.data(), count_};
      return;
    }
    floats_ = {reinterpret_cast<const float*>(in), reinterpret_cast<float*>(out_), kept.stride};
    if (in != out_) return;
    std::copy_n(floats_.in, count_, scratch.kept_in.data());
    floats_.in = scratch.kept_in.data();
  }
  const compll::Residual& floats() const { return floats_; }
  /// Rounds what the codec has written, where that is kept in bfloat16. `context`: the codec's.
  void put_back(const compll::EncodeContext& context) const {
    if (rounding_ == nullptr) return;
    std::byte* const code = scratch_.kept_code.data();
    static_cast<void>(rounding_->encode(floats_.out, count_, {}, compll::kept_context(context), code));
    std::memcpy(out_, code + compll::kHeaderBytes, count_ * bytes_of(DType::kBFloat16));
  }

 private:
  const Elements count_;
  Scratch& scratch_;
  compll::Residual floats_;
  std::byte* out_ = nullptr;
  const compll::Codec* rounding_ = nullptr;  ///< null: `out_` holds floats
};

}  // namespace

/// Two ranks that rounded by the same random numbers would err alike, and so would an owner that rounds their sum by
/// them again: the mean would not come out right. So each draws its own, but where a codec wants them shared. Votes may
/// be counted by every rank, and all have to come to the same code.
compll::EncodeContext context_of(Rank self, std::uint64_t key, std::uint32_t step, const compll::CodecInfo& codec,
                                 KeptBy use, Slice slice, std::uint64_t seed) {
  const Rank drawer = codec.votes && use == KeptBy::kMerge ? 0 : self;
  const std::uint64_t who = 3 * static_cast<std::uint64_t>(drawer) + static_cast<std::uint64_t>(use);
  const std::uint64_t own = seed + (who + 1) * 0xd1342543de82ef95;  // odd: no two become one
  return {codec.shared_numbers ? seed : own, key, step, slice.first};
}

compll::EncodeContext context_of(const GradientRun& run, const compll::CodecInfo& codec, KeptBy use, Slice slice,
                                 std::uint64_t seed) {
  return context_of(run.self, run.key, run.step.number(), codec, use, slice, seed);
}

namespace {

/// The payload of one part in a buffer: the whole one of a run that is no bundle.
View payload_of(GradientRun& run, BufferId id, std::size_t part) {
  const RunBuffers::State& state = run.state(id);
  if (!run.parts) return {state.memory.data, state.bytes};
  return run.parts->part(state.memory, run.buffers.of(id).hop, part);
}

bool is_finite(GradientRun& run, BufferId id, std::size_t part) {
  const RunBuffers::State& state = run.state(id);
  return run.parts ? bundle_part_is_finite(state.memory, run.part_count(), part) : state.finite;
}

/// The whole of a buffer that a task is about to make, but for the parts themselves.
void begin_making(GradientRun& run, BufferId id) {
  if (!run.parts) return;
  const std::span<const BundleEntry> entries = run.parts->entries(run.buffers.of(id).hop);
  write_bundle_head(entries, run.state(id).memory);
  clear_bundle_gaps(entries, run.state(id).memory);
}

/// Notes a part that has been made, and adds it to what is said of all of them.
void end_part(GradientRun& run, BufferId id, std::size_t part, compll::Encoded made, TaskOutcome& outcome) {
  if (!run.parts) {
    outcome = {Status::ok(), made.size, made.finite};
    return;
  }
  CASYNC_CHECK(made.size == payload_of(run, id, part).size);  // of a codec whose size varies there is no bundle
  set_bundle_part_finite(run.state(id).memory, run.part_count(), part, made.finite);
  outcome = {Status::ok(), run.buffers.bound_of(id), outcome.finite && made.finite};
}

}  // namespace

namespace {

/// The rank that sent the payload in a buffer; -1: it was made here.
Rank sender_of(const GradientRun& run, BufferId id) {
  for (const Arrivals::Arrival& one : run.arrivals.all()) {
    if (one.to() == id) return one.from();
  }
  return -1;
}

/// Names the message of a part that is not what it should be.
Status blame(GradientRun& run, BufferId id, std::size_t part, const Status& status) {
  if (status.is_ok()) return status;
  return data_loss("message from rank " + std::to_string(sender_of(run, id)) + " (gradient " +
                   run.part(part).spec.name + ", step " + std::to_string(run.step.number()) + ", partition " +
                   std::to_string(run.buffers.of(id).partition) + "): not a payload of its codec: " + status.message());
}

}  // namespace

Status check_payload(GradientRun& run, BufferId id) {
  if (!run.buffers.take_unchecked(id)) return Status::ok();
  for (std::size_t i = 0; i < run.part_count(); ++i) {
    const Elements n = run.part_slice(i, run.buffers.of(id).slice).count;
    CASYNC_RETURN_IF_ERROR(blame(run, id, i, run.codec_of(id).check(payload_of(run, id, i), n)));
  }
  return Status::ok();
}

Status check_for_kernels(GradientRun& run, BufferId id) {
  const compll::PayloadCoding* const coding = compll::coding_of(run.codec_of(id));
  if (coding == nullptr) return check_payload(run, id);
  if (!run.state(id).unchecked) return Status::ok();
  return blame(run, id, 0, coding->check_head(payload_of(run, id, 0), run.buffers.of(id).slice.count));
}

namespace {

TaskOutcome run_encode(GradientRun& run, const Encode& encode, std::uint64_t seed, Scratch& scratch) {
  const compll::Codec& codec = run.codec_of(encode.to);
  TaskOutcome outcome;
  begin_making(run, encode.to);
  for (std::size_t i = 0; i < run.part_count(); ++i) {
    GradientRun& part = run.part(i);
    const Slice slice = run.part_slice(i, encode.from);
    std::byte* const out = run.parts ? payload_of(run, encode.to, i).data : run.state(encode.to).memory.data;
    const KeptSlice keeps(part, codec, KeptBy::kEncode, slice, scratch);
    const compll::Residual& kept = keeps.floats();
    const auto context = context_of(part, codec.info(), KeptBy::kEncode, slice, seed);
    const compll::Encoded made = codec.encode(float_values(part, slice, scratch), slice.count, kept, context, out);
    // Its owner adds each of the other partitions, so that a step keeps what they leave, and of this one what was.
    if (run.asynchronous && !made.finite && kept.out != nullptr) std::copy_n(kept.in, slice.count, kept.out);
    keeps.put_back(context);
    end_part(run, encode.to, i, made, outcome);
  }
  return outcome;
}

/// Merges one part; its contributions have been checked.
compll::Encoded merge_part(GradientRun& run, std::size_t at, const Merge& merge, std::uint64_t seed, float scale,
                           Scratch& scratch) {
  GradientRun& part = run.part(at);
  scratch.contributions.clear();
  bool finite = true;
  const compll::Codec* in_codec = &run.codec(Hop::kFirst);  // of all codes; matters only where there is one
  for (const std::optional<BufferId>& one : merge.contributions) {
    if (!one) {
      scratch.contributions.push_back({{}, float_values(part, run.part_slice(at, merge.local), scratch)});
      continue;
    }
    const View payload = payload_of(run, *one, at);
    if (run.buffers.of(*one).hop == Hop::kSum) {
      scratch.contributions.push_back({{}, reinterpret_cast<const float*>(payload.data)});
    } else {
      scratch.contributions.push_back({payload, nullptr});
      in_codec = &run.codec_of(*one);
    }
    finite = finite && is_finite(run, *one, at);
  }
  const Slice slice = run.part_slice(at, run.buffers.of(merge.to).slice);
  const compll::Codec& out_codec = run.codec_of(merge.to);
  // A sum on its way to the owner is a contribution there, as a gradient is.
  const auto use = run.buffers.of(merge.to).hop == Hop::kFirst ? KeptBy::kEncode : KeptBy::kMerge;
  std::byte* const out = run.parts ? payload_of(run, merge.to, at).data : run.state(merge.to).memory.data;
  const KeptSlice kept(part, out_codec, use, slice, scratch);
  const compll::EncodeContext context = context_of(part, out_codec.info(), use, slice, seed);
  compll::Encoded made = in_codec->merge(scratch.contributions, slice.count, merge.last ? scale : 1.0f, out_codec,
                                         kept.floats(), context, out);
  kept.put_back(context);
  made.finite = made.finite && finite;
  return made;
}

TaskOutcome run_merge(GradientRun& run, const Merge& merge, std::uint64_t seed, float scale, Scratch& scratch) {
  for (const std::optional<BufferId>& one : merge.contributions) {
    if (!one) continue;
    if (Status status = check_payload(run, *one); !status) return {std::move(status), 0, true};
  }
  TaskOutcome outcome;
  begin_making(run, merge.to);
  for (std::size_t i = 0; i < run.part_count(); ++i) {
    end_part(run, merge.to, i, merge_part(run, i, merge, seed, scale, scratch), outcome);
  }
  return outcome;
}

void decode_part(GradientRun& run, std::size_t at, const Decode& decode, std::uint64_t seed, Scratch& scratch) {
  GradientRun& part = run.part(at);
  const Slice to = run.part_slice(at, decode.to);
  const View out = part.memory(to);
  float* const values = part.is_float32() ? reinterpret_cast<float*>(out.data) : scratch.values.data();
  run.codec_of(decode.from).decode(payload_of(run, decode.from, at), to.count, values);
  if (const compll::Codec& first = run.codec(Hop::kFirst); first.info().has_result) {
    const KeptSlice kept(part, first, KeptBy::kResult, to, scratch);
    const bool keeps = part.kept.type() != DType::kBFloat16;  // those are residuals, of which no result is made
    first.result(values, to.count, keeps ? kept.floats() : compll::Residual{},
                 {seed, part.key, part.step.number(), to.first}, values);
  }
  if (!part.is_float32()) {
    compll::from_float32(scratch.values.data(), to.count, part.spec.dtype, out.data);
  }
}

TaskOutcome run_decode(GradientRun& run, const Decode& decode, std::uint64_t seed, Scratch& scratch) {
  const RunBuffers::State& state = run.state(decode.from);
  if (Status status = check_payload(run, decode.from); !status) return {std::move(status), 0, true};
  for (std::size_t i = 0; i < run.part_count(); ++i) decode_part(run, i, decode, seed, scratch);
  return {Status::ok(), state.bytes, state.finite};
}

bool all_finite(const View& floats) {
  const auto* const values = reinterpret_cast<const float*>(floats.data);
  return std::all_of(values, values + floats.size / sizeof(float), [](float x) { return std::isfinite(x); });
}

/// The floats of an exchange if they are whole numbers, else none.
std::span<float> whole_numbers(RoundsRun& rounds, std::size_t round) {
  if (rounds.codec->info().exchanges[round] != compll::ExchangeKind::kElias) return {};
  return {reinterpret_cast<float*>(rounds.exchanged()[round]->view().data), rounds.shape.exchanged[round]};
}

/// Gives the last sums of whole numbers their scale. With it they are none, which no hop could carry.
void scale_whole_numbers(RoundsRun& rounds, float scale) {
  if (rounds.turn() == 0 || scale == 1) return;
  for (float& each : whole_numbers(rounds, rounds.turn() - 1)) each *= scale;
}

/// Rounds what a rank gives: some hops add elements, then encode them.
void round_whole_numbers(RoundsRun& rounds) {
  if (rounds.is_last()) return;
  for (float& each : whole_numbers(rounds, rounds.turn())) each = std::nearbyint(each);
}

TaskOutcome run_turn(GradientRun& run, std::uint64_t seed, float scale, Scratch& scratch) {
  RoundsRun& rounds = *run.rounds;
  scale_whole_numbers(rounds, scale);
  const Slice all{0, run.elements};
  std::array<float*, compll::kMostRounds> exchanged;
  TaskOutcome outcome;
  for (std::size_t i = 0; i < rounds.exchanged().size(); ++i) {
    exchanged[i] = reinterpret_cast<float*>(rounds.exchanged()[i]->view().data);
    // All ranks have the same of each, so they say the same. Of whole numbers only the exchange knows.
    if (rounds.is_last()) {
      outcome.finite =
          outcome.finite && rounds.exchanges()[i]->step.is_finite() && all_finite(rounds.exchanged()[i]->view());
    }
  }
  const float* const gradient = float_values(run, all, scratch);
  const KeptState::Slices kept = run.kept.from(0);
  float* const out = run.is_float32() ? reinterpret_cast<float*>(run.memory(all).data) : scratch.values.data();
  rounds.codec->turn({.number = rounds.turn(),
                      .rows = rounds.rows,
                      .columns = rounds.columns,
                      .gradient = gradient,
                      .exchanged = {exchanged.data(), rounds.exchanged().size()},
                      .states_in = reinterpret_cast<float*>(host_view(kept.in).data),
                      .states_out = reinterpret_cast<float*>(host_view(kept.out).data),
                      .scratch = reinterpret_cast<float*>(rounds.scratch()->view().data),
                      .out = rounds.is_last() ? out : nullptr},
                     context_of(run, rounds.codec->info(), KeptBy::kEncode, all, seed));
  round_whole_numbers(rounds);
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
  if (const auto* merge = std::get_if<Merge>(&primitive)) {
    bool finite = true;
    for (const std::optional<BufferId>& one : merge->contributions) finite = finite && run.state(*one).finite;
    return {Status::ok(), 0, finite};
  }
  const RunBuffers::State& from = run.state(std::get<Decode>(primitive).from);
  return {Status::ok(), from.bytes, from.finite};
}

TaskOutcome run_task(GradientRun& run, TaskId task, std::uint64_t seed, float scale, Scratch& scratch) {
  if (run.rounds) return run_turn(run, seed, scale, scratch);
  if (run.answering) return run.answering->of(task).run(run, seed, scale, scratch);
  const Primitive& primitive = run.graph.tasks()[TaskGraph::index(task)];
  if (const auto* encode = std::get_if<Encode>(&primitive)) return run_encode(run, *encode, seed, scratch);
  if (const auto* merge = std::get_if<Merge>(&primitive)) return run_merge(run, *merge, seed, scale, scratch);
  const auto* decode = std::get_if<Decode>(&primitive);
  CASYNC_CHECK(decode != nullptr);
  return run_decode(run, *decode, seed, scratch);
}

void reserve_scratch(const GradientRun& run, int ranks, Scratch& scratch) {
  scratch.contributions.reserve(static_cast<std::size_t>(ranks));
  Elements most = 0;
  for (const Buffer& buffer : run.graph.buffers()) most = std::max(most, buffer.slice.count);
  if (run.kept.memory() != ResidualMemory::kTwoBuffers) {
    scratch.kept_in.resize(std::max<Elements>(scratch.kept_in.size(), most));
  }
  if (run.kept.type() == DType::kBFloat16) {
    scratch.kept_out.resize(std::max<Elements>(scratch.kept_out.size(), most));
    scratch.kept_code.resize(std::max(scratch.kept_code.size(), run.codecs->kept->encoded_bound(most)));
  }
  if (run.is_float32() && !run.answering) return;
  if (run.rounds) most = std::max(most, run.elements);
  scratch.values.resize(std::max<Elements>(scratch.values.size(), most));
}

}  // namespace casync::runtime
