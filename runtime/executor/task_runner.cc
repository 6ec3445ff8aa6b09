// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/task_runner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>

#include "base/check.h"
#include "compll/codec/coded/coded_codec.h"
#include "compll/codec/payload.h"
#include "compll/ops/cpu/convert.h"
#include "runtime/device/host/host_view.h"
#include "runtime/executor/answering.h"
#include "runtime/executor/kept_slice.h"

namespace casync::runtime {
namespace {

/// A gradient that is in no bundle.
TaskPart whole_of(const GradientRun& run) {
  return {run.step.data(), run.elements, run.key, run.spec.dtype, run.kept.arrays()};
}

Slice all_of(const TaskPart& part) { return {0, part.elements}; }

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

compll::EncodeContext context_of(const GradientRun& run, const TaskPart& part, const compll::CodecInfo& codec,
                                 KeptBy use, Slice slice, std::uint64_t seed) {
  return context_of(run.self, part.key, run.step.number(), codec, use, slice, seed);
}

/// The payloads in a buffer: one for each part of a bundle, or the whole one of a run that is no bundle.
class Payloads {
 public:
  Payloads(const GradientRun& run, BufferId id) : memory_(run.state(id).memory), whole_(run.state(id).bytes) {
    if (run.parts) parts_ = run.parts->entries(run.buffers.of(id).hop);
  }
  View operator[](std::size_t part) const {
    if (parts_.empty()) return {memory_.data, whole_};
    return memory_.slice(parts_[part].offset, parts_[part].bytes);
  }

 private:
  View memory_;
  Bytes whole_;
  std::span<const BundleEntry> parts_;
};

View payload_of(const GradientRun& run, BufferId id, std::size_t part) { return Payloads(run, id)[part]; }

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
  const compll::Codec& codec = run.codec_of(id);
  const Payloads payloads(run, id);
  for (std::size_t i = 0; i < run.part_count(); ++i) {
    const Elements n = run.part_slice(i, run.buffers.of(id).slice).count;
    if (Status status = codec.check(payloads[i], n); !status) return blame(run, id, i, status);
  }
  return Status::ok();
}

bool is_rounded_shard(const GradientRun& run, BufferId sum) {
  if (!run.spec.scattered || run.is_float32() || run.buffers.of(sum).hop != Hop::kSum) return false;
  return !run.codec(Hop::kFirst).info().has_result;
}

Status check_for_kernels(GradientRun& run, BufferId id) {
  const compll::PayloadCoding* const coding = compll::coding_of(run.codec_of(id));
  if (coding == nullptr) return check_payload(run, id);
  if (!run.state(id).unchecked) return Status::ok();
  return blame(run, id, 0, coding->check_head(payload_of(run, id, 0), run.buffers.of(id).slice.count));
}

namespace {

/// Encodes a bundle's parts, which are floats (travels_in_bundle), in one call of the codec.
TaskOutcome encode_bundle(GradientRun& run, const Encode& encode, std::uint64_t seed, Scratch& scratch) {
  const compll::Codec& codec = run.codec_of(encode.to);
  const Payloads payloads(run, encode.to);
  begin_making(run, encode.to);
  scratch.encodes.clear();
  for (std::size_t i = 0; i < run.part_count(); ++i) {
    const TaskPart& part = run.parts->members()[i];
    const Slice all = all_of(part);
    scratch.encodes.push_back({float_values(part, all, scratch),
                               all.count,
                               KeptSlice(*run.codecs, part, codec, KeptBy::kEncode, all, scratch).floats(),
                               context_of(run, part, codec.info(), KeptBy::kEncode, all, seed),
                               payloads[i].data,
                               {}});
  }
  compll::encode_all(codec, scratch.encodes);
  TaskOutcome outcome;
  for (std::size_t i = 0; i < run.part_count(); ++i) end_part(run, encode.to, i, scratch.encodes[i].made, outcome);
  return outcome;
}

TaskOutcome run_encode(GradientRun& run, const Encode& encode, std::uint64_t seed, Scratch& scratch) {
  if (run.parts) return encode_bundle(run, encode, seed, scratch);
  const compll::Codec& codec = run.codec_of(encode.to);
  const TaskPart part = whole_of(run);
  const KeptSlice keeps(*run.codecs, part, codec, KeptBy::kEncode, encode.from, scratch);
  const compll::Residual& kept = keeps.floats();
  const auto context = context_of(run, part, codec.info(), KeptBy::kEncode, encode.from, seed);
  const compll::Encoded made = codec.encode(float_values(part, encode.from, scratch), encode.from.count, kept, context,
                                            run.state(encode.to).memory.data);
  // Its owner adds each of the other partitions, so that a step keeps what they leave, and of this one what was.
  if (run.asynchronous && !made.finite && kept.out != nullptr) std::copy_n(kept.in, encode.from.count, kept.out);
  keeps.put_back(context);
  return {Status::ok(), made.size, made.finite};
}

/// Returns false if a shard's sum is infinite in the gradient's type.
bool shard_stays_finite(const GradientRun& run, BufferId sum, const std::byte* floats) {
  if (!is_rounded_shard(run, sum)) return true;
  return compll::stays_finite(reinterpret_cast<const float*>(floats), run.buffers.elements_in(sum), run.spec.dtype);
}

/// Merges one part; its contributions have been checked.
compll::Encoded merge_part(GradientRun& run, const TaskPart& part, std::size_t at, const Merge& merge,
                           std::uint64_t seed, float scale, Scratch& scratch) {
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
  const KeptSlice kept(*run.codecs, part, out_codec, use, slice, scratch);
  const compll::EncodeContext context = context_of(run, part, out_codec.info(), use, slice, seed);
  compll::Encoded made = in_codec->merge(scratch.contributions, slice.count, merge.last ? scale : 1.0f, out_codec,
                                         kept.floats(), context, out);
  kept.put_back(context);
  made.finite = made.finite && finite && shard_stays_finite(run, merge.to, out);
  return made;
}

TaskOutcome run_merge(GradientRun& run, const Merge& merge, std::uint64_t seed, float scale, Scratch& scratch) {
  for (const std::optional<BufferId>& one : merge.contributions) {
    if (!one) continue;
    if (Status status = check_payload(run, *one); !status) return {std::move(status), 0, true};
  }
  TaskOutcome outcome;
  begin_making(run, merge.to);
  if (!run.parts) {
    end_part(run, merge.to, 0, merge_part(run, whole_of(run), 0, merge, seed, scale, scratch), outcome);
    return outcome;
  }
  const std::span<const Bundle::Member> members = run.parts->members();
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (i + 1 < members.size()) members[i + 1].fetch();
    end_part(run, merge.to, i, merge_part(run, members[i], i, merge, seed, scale, scratch), outcome);
  }
  return outcome;
}

/// The memory that elements of `slice` are decoded to: the gradient's, or `scratch` if the gradient has no floats.
float* floats_of(const TaskPart& part, Slice slice, Scratch& scratch) {
  return part.is_float32() ? reinterpret_cast<float*>(part.memory(slice).data) : scratch.values.data();
}

/// Makes the gradient's elements of those that have been decoded to floats_of(). Returns false if they are rounded to
/// half precision and one is not finite there.
bool end_decode(GradientRun& run, const TaskPart& part, Slice to, std::uint64_t seed, Scratch& scratch) {
  float* const values = floats_of(part, to, scratch);
  if (const compll::Codec& first = run.codec(Hop::kFirst); first.info().has_result) {
    const KeptSlice kept(*run.codecs, part, first, KeptBy::kResult, to, scratch);
    const bool keeps = part.kept.type != DType::kBFloat16;  // those are residuals, of which no result is made
    first.result(values, to.count, keeps ? kept.floats() : compll::Residual{},
                 {seed, part.key, run.step.number(), to.first}, values);
  }
  return part.is_float32() || compll::from_float32(values, to.count, part.dtype, part.memory(to).data);
}

/// Decodes a bundle's parts, which are floats, in one call of the codec.
void decode_bundle(GradientRun& run, const Decode& decode, std::uint64_t seed, Scratch& scratch) {
  const std::span<const Bundle::Member> members = run.parts->members();
  const Payloads payloads(run, decode.from);
  scratch.decodes.clear();
  for (std::size_t i = 0; i < members.size(); ++i) {
    float* const out = floats_of(members[i], all_of(members[i]), scratch);
    scratch.decodes.push_back({payloads[i], members[i].elements, out});
  }
  compll::decode_all(run.codec_of(decode.from), scratch.decodes);
  if (!run.codec(Hop::kFirst).info().has_result) return;
  for (const TaskPart& part : members) end_decode(run, part, all_of(part), seed, scratch);
}

TaskOutcome run_decode(GradientRun& run, const Decode& decode, std::uint64_t seed, Scratch& scratch) {
  const RunBuffers::State& state = run.state(decode.from);
  if (Status status = check_payload(run, decode.from); !status) return {std::move(status), 0, true};
  bool fits = true;
  if (run.parts) {
    decode_bundle(run, decode, seed, scratch);
  } else {
    const TaskPart part = whole_of(run);
    run.codec_of(decode.from)
        .decode(payload_of(run, decode.from, 0), decode.to.count, floats_of(part, decode.to, scratch));
    fits = end_decode(run, part, decode.to, seed, scratch);
  }
  // Ranks with the same result decode the same bytes, and say the same. A shard is decoded by its owner alone.
  return {Status::ok(), state.bytes, state.finite && (fits || run.spec.scattered)};
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
  const float* const gradient = float_values(whole_of(run), all, scratch);
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
    const bool finite = compll::from_float32(out, run.elements, run.spec.dtype, run.memory(all).data);
    outcome.finite = outcome.finite && finite;
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
  if (run.parts) {
    scratch.encodes.reserve(run.part_count());
    scratch.decodes.reserve(run.part_count());
  }
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
