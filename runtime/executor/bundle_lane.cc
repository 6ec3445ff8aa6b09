// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/bundle_lane.h"

#include <cstring>
#include <optional>
#include <span>

#include "casync/graph/access.h"
#include "compll/codec/payload.h"
#include "runtime/executor/bundle.h"
#include "runtime/executor/lane_queue.h"

namespace casync::runtime {
namespace {

/// The places of a bundle's parts on the device, where they begin at 0.
struct Parts {
  Parts(const GradientRun& bundle, BufferId buffer)
      : entries(bundle.parts->entries(bundle.buffers.of(buffer).hop)),
        head(bundle_head_bytes(entries.size())),
        bytes(bundle.buffers.bound_of(buffer) - head) {}

  DeviceView of(DeviceView all, std::size_t i) const { return all.slice(entries[i].offset - head, entries[i].bytes); }
  /// The same where each part has the head of an identity's payload ahead of it.
  Bytes headed_at(std::size_t i) const { return entries[i].offset - head + i * kDevicePayloadHead; }
  Bytes headed_bytes() const { return bytes + entries.size() * kDevicePayloadHead; }

  std::span<const BundleEntry> entries;
  Bytes head, bytes;
};

class BundleQueue final : public LaneQueue {
 public:
  BundleQueue(const LaneTasks& tasks, const LaneRoom& room, DeviceLane* lane, LaneLists& lists, GradientRun& bundle)
      : LaneQueue(tasks, room, lane, lists), bundle_(bundle), scale_(bundle.scale.scale_or(tasks.scale)) {}

  Status make(TaskId task) {
    const Primitive& primitive = bundle_.graph.tasks()[TaskGraph::index(task)];
    if (const auto* encode = std::get_if<Encode>(&primitive)) return this->encode(*encode);
    if (const auto* merge = std::get_if<Merge>(&primitive)) return this->merge(*merge);
    if (const auto* decode = std::get_if<Decode>(&primitive)) return this->decode(*decode);
    return Status::ok();  // a message
  }

 private:
  static Slice all_of(const GradientRun& member) { return {0, member.elements}; }

  Status encode(const Encode& encode) {
    const compll::Codec& codec = bundle_.codec_of(encode.to);
    const Parts parts(bundle_, encode.to);
    const DeviceView made = take_vector(parts.bytes);
    CASYNC_RETURN_IF_ERROR(wait_for_members());
    if (codec.info().identity) {
      for (std::size_t i = 0; i < bundle_.part_count(); ++i) add_raw(member(i).device.memory(all_of(member(i))));
      for (std::size_t i = 0; i < bundle_.part_count(); ++i) add_sum(i, 1, parts.of(made, i));
    } else {
      for (std::size_t i = 0; i < bundle_.part_count(); ++i) {
        KernelCall call = calls().encode(member(i), codec, all_of(member(i)));
        call.payload = parts.of(made, i);
        lists_.calls.push_back(call);
      }
    }
    CASYNC_RETURN_IF_ERROR(launch_all(codec, lists_.calls));
    return download(made, payloads(encode.to, parts));
  }

  Status merge(const Merge& merge) {
    const compll::Codec* in = nullptr;
    CASYNC_RETURN_IF_ERROR(gather(merge, &in));
    const compll::Codec& out = bundle_.codec_of(merge.to);
    take_sums();
    const bool adds_first = in != nullptr && !are_alike(*in, out);
    if (adds_first) {
      for (std::size_t i = 0; i < bundle_.part_count(); ++i) add_sum(i, merge.contributions.size(), lists_.sums[i]);
      CASYNC_RETURN_IF_ERROR(launch_all(*in, lists_.calls));
      lists_.calls.clear();
    }
    const Parts parts(bundle_, merge.to);
    const bool headed = out.info().identity;
    const DeviceView made = take_vector(headed ? parts.headed_bytes() : parts.bytes);
    for (std::size_t i = 0; i < bundle_.part_count(); ++i) {
      KernelCall call = calls().of(member(i), KernelFunction::kMerge, out, KeptBy::kMerge, all_of(member(i)));
      call.scale = merge.last ? scale_ : 1.0f;
      if (adds_first) {
        call.function = KernelFunction::kEncodeSum;
        call.in = lists_.sums[i];
      } else {
        call.terms = terms_of(i, merge.contributions.size());
        call.out = lists_.sums[i];
      }
      call.payload =
          headed ? made.slice(parts.headed_at(i), kDevicePayloadHead + parts.entries[i].bytes) : parts.of(made, i);
      lists_.calls.push_back(call);
    }
    CASYNC_RETURN_IF_ERROR(launch_all(out, lists_.calls));
    return download(made, headed ? take_plain(parts.headed_bytes()) : payloads(merge.to, parts));
  }

  Status decode(const Decode& decode) {
    const compll::Codec& codec = bundle_.codec_of(decode.from);
    const Parts parts(bundle_, decode.from);
    CASYNC_RETURN_IF_ERROR(wait_for_members());
    DeviceView payload;
    CASYNC_RETURN_IF_ERROR(bring(decode.from, parts, &payload));
    for (std::size_t i = 0; i < bundle_.part_count(); ++i) add_term(codec, parts.of(payload, i));
    for (std::size_t i = 0; i < bundle_.part_count(); ++i) add_sum(i, 1, member(i).device.memory(all_of(member(i))));
    CASYNC_RETURN_IF_ERROR(launch_all(codec, lists_.calls));
    const compll::Codec& first = bundle_.codec(Hop::kFirst);
    if (!first.info().has_result) return Status::ok();
    lists_.calls.clear();
    for (std::size_t i = 0; i < bundle_.part_count(); ++i) {
      lists_.calls.push_back(calls().result(member(i), all_of(member(i)), member(i).device.memory(all_of(member(i)))));
    }
    return launch_all(first, lists_.calls);
  }

  /// Lists the terms of all members, member by member. `in`: the codec of those that are codes.
  Status gather(const Merge& merge, const compll::Codec** in) {
    for (const std::optional<BufferId>& one : merge.contributions) {
      DeviceView& payload = lists_.payloads.emplace_back();
      if (!one) {
        CASYNC_RETURN_IF_ERROR(wait_for_members());
        continue;
      }
      CASYNC_RETURN_IF_ERROR(bring(*one, Parts(bundle_, *one), &payload));
      if (!bundle_.codec_of(*one).info().identity) *in = &bundle_.codec_of(*one);
    }
    for (std::size_t i = 0; i < bundle_.part_count(); ++i) {
      for (std::size_t k = 0; k < merge.contributions.size(); ++k) {
        const std::optional<BufferId>& one = merge.contributions[k];
        if (!one) {
          add_raw(member(i).device.memory(all_of(member(i))));
        } else {
          add_term(bundle_.codec_of(*one), Parts(bundle_, *one).of(lists_.payloads[k], i));
        }
      }
    }
    return Status::ok();
  }

  /// Copies a bundle's parts to the device, once they have been checked.
  Status bring(BufferId from, const Parts& parts, DeviceView* to) {
    if (lane_ != nullptr) CASYNC_RETURN_IF_ERROR(check_payload(bundle_, from));
    *to = take_vector(parts.bytes);
    return upload(payloads(from, parts), *to);
  }

  /// The memory of a bundle's parts on the host.
  View payloads(BufferId buffer, const Parts& parts) {
    return lane_ == nullptr ? View() : bundle_.state(buffer).memory.slice(parts.head, parts.bytes);
  }

  void add_raw(DeviceView floats) { lists_.terms.push_back({{}, floats}); }
  void add_term(const compll::Codec& codec, DeviceView payload) {
    lists_.terms.push_back(codec.info().identity ? KernelTerm{{}, payload} : KernelTerm{payload, {}});
  }
  /// Lists the call that adds up the member's terms, all of which are listed.
  void add_sum(std::size_t at, std::size_t terms, DeviceView out) {
    KernelCall call;
    call.function = KernelFunction::kDecode;
    call.n = member(at).elements;
    call.terms = terms_of(at, terms);
    call.out = out;
    lists_.calls.push_back(call);
  }
  std::span<const KernelTerm> terms_of(std::size_t at, std::size_t count) const {
    return {lists_.terms.data() + at * count, count};
  }

  static constexpr Bytes kSumAlignment = 64;
  /// Memory for the sums of all members, one after the other.
  void take_sums() {
    Bytes bytes = 0;
    for (const Bundle::Member& each : bundle_.parts->members()) bytes += bytes_of_sum(each);
    const DeviceView all = take_vector(bytes);
    Bytes at = 0;
    for (const Bundle::Member& each : bundle_.parts->members()) {
      lists_.sums.push_back(all.slice(at, each.elements * sizeof(float)));
      at += bytes_of_sum(each);
    }
  }
  static Bytes bytes_of_sum(const Bundle::Member& member) {
    return round_up(member.elements * sizeof(float), kSumAlignment);
  }

  GradientRun& member(std::size_t at) const { return *bundle_.parts->members()[at].run; }
  Status wait_for_members() {
    for (const Bundle::Member& each : bundle_.parts->members()) CASYNC_RETURN_IF_ERROR(wait_for(*each.run));
    return Status::ok();
  }

  GradientRun& bundle_;
  const float scale_;
};

/// Notes the part that a task has made in its place, and returns true if its elements are finite.
bool end_part(GradientRun& bundle, const Primitive& task, const Parts& parts, std::size_t at, View plain) {
  const auto* const merge = std::get_if<Merge>(&task);
  const BufferId to = *written_buffer(task);
  const View memory = bundle.state(to).memory;
  std::byte* const payload = memory.data + parts.entries[at].offset;
  bool finite = true;  // of an identity's encode, as it is on the host: the merge looks
  if (!bundle.codec_of(to).info().identity) {
    finite = compll::says_finite(payload);
  } else if (merge != nullptr) {
    const std::byte* const made = plain.data + parts.headed_at(at);
    finite = compll::says_finite(made);
    std::memcpy(payload, made + kDevicePayloadHead, parts.entries[at].bytes);
  }
  if (merge == nullptr) return finite;
  for (const std::optional<BufferId>& one : merge->contributions) {
    if (one) finite = finite && bundle_part_is_finite(bundle.state(*one).memory, bundle.part_count(), at);
  }
  return finite;
}

}  // namespace

Result<LaneRoom> room_of_bundle(const LaneTasks& tasks, GradientRun& bundle, TaskId task) {
  const LaneRoom none;
  LaneLists lists;
  BundleQueue queue(tasks, none, nullptr, lists, bundle);
  CASYNC_RETURN_IF_ERROR(queue.make(task));
  return queue.plan();
}

Status queue_bundle_task(const LaneTasks& tasks, const LaneRoom& room, DeviceLane& lane) {
  const LaneTask& one = lane.tasks[0];
  return BundleQueue(tasks, room, &lane, lane.lists, *one.run).make(one.task);
}

TaskOutcome end_bundle_task(const LaneRoom& room, DeviceLane& lane) {
  GradientRun& bundle = *lane.tasks[0].run;
  const Primitive& task = bundle.graph.tasks()[TaskGraph::index(lane.tasks[0].task)];
  if (const auto* decode = std::get_if<Decode>(&task)) {
    return {Status::ok(), bundle.state(decode->from).bytes, bundle.state(decode->from).finite};
  }
  const BufferId to = *written_buffer(task);
  const View memory = bundle.state(to).memory;
  const Parts parts(bundle, to);
  write_bundle_head(parts.entries, memory);
  clear_bundle_gaps(parts.entries, memory);
  const View plain = lane.pinned->view().slice(room.plain_at(), room.plain);
  TaskOutcome outcome{Status::ok(), bundle.buffers.bound_of(to), true};
  for (std::size_t i = 0; i < bundle.part_count(); ++i) {
    const bool finite = end_part(bundle, task, parts, i, plain);
    set_bundle_part_finite(memory, bundle.part_count(), i, finite);
    outcome.finite = outcome.finite && finite;
  }
  return outcome;
}

}  // namespace casync::runtime
