// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/emulated/reach.h"

#include <cstddef>
#include <cstdint>

#include "tests/compll/cuda/emulated/memory.h"

namespace casync::compll::emulated {
namespace {

constexpr std::uint64_t kPayloadHead = 16, kWord = 4, kLongWord = 8;

std::uint64_t width_of(cuda::ElementType type) { return type == cuda::ElementType::kFloat32 ? 4 : 2; }

class Reach {
 public:
  explicit Reach(int device) : device_(device) {}

  const char* stray() const { return stray_; }

  void look(const cuda::Launch& launch) {
    look("tickets", launch.tickets, kWord);
    look("stamps", launch.stamps, kLongWord);
    look("workspace", launch.workspace, kLongWord);
    if (!look("segments", launch.segments, launch.segment_count * sizeof(cuda::Segment))) return;
    for (std::uint32_t i = 0; i < launch.segment_count; ++i) look(launch.segments[i]);
  }

  void look(const cuda::CodingLaunch& launch) {
    look("tickets", launch.tickets, launch.payload_count * kWord);
    if (!look("payloads", launch.payloads, launch.payload_count * sizeof(cuda::CodedPayload))) return;
    for (std::uint32_t i = 0; i < launch.payload_count; ++i) {
      const cuda::CodedPayload& one = launch.payloads[i];
      look("plain", one.plain, kPayloadHead);
      look("payload", one.payload, one.sizes == nullptr ? one.bytes : kPayloadHead);
      look("outcome", one.outcome, sizeof(cuda::CodedOutcome));
      look("sections", one.sections, one.section_count * sizeof(cuda::CodedSection));
      look("places", one.places, one.block_count * kLongWord);
      look("sizes", one.sizes, one.block_count * kWord);
      look_at("codes", one.codes);
    }
  }

 private:
  void look(const cuda::Segment& segment) {
    const std::uint64_t n = segment.n;
    look("in", segment.in, n * width_of(segment.in_type));
    look("out", segment.out, n * width_of(segment.out_type));
    look("residual_in", segment.residual_in, n * sizeof(float));
    look("residual_out", segment.residual_out, n * sizeof(float));
    look("payload", segment.payload, kPayloadHead);
    look("not_finite", segment.not_finite, kWord);
    look_at("states_in", segment.states_in);
    look_at("states_out", segment.states_out);
    look_at("memory", segment.memory);
    look_at("scratch", segment.scratch);
    for (const float* each : segment.exchanged) look_at("exchanged", each);
    const std::uint32_t count = segment.contribution_count;
    if (!look("contributions", segment.contributions, count * sizeof(cuda::Contribution))) return;
    for (std::uint32_t i = 0; i < count; ++i) {
      const cuda::Contribution& one = segment.contributions[i];
      look("raw", one.raw, n * width_of(one.raw_type));
      if (one.raw == nullptr) look("payload of a contribution", one.payload, n == 0 ? 0 : kPayloadHead);
    }
  }

  /// Returns true if all of these bytes can be reached, and there are some.
  bool look(const char* member, const void* at, std::uint64_t bytes) {
    if (at == nullptr || bytes == 0) return false;
    if (is_reached(at, bytes, device_)) return true;
    if (stray_ == nullptr) stray_ = member;
    return false;
  }

  /// The same of memory whose size depends on the codec: none is anywhere up to the end of an allocation.
  void look_at(const char* member, const void* at) {
    if (at == nullptr || is_reached(static_cast<const std::byte*>(at) - 1, 1, device_)) return;
    look(member, at, 1);
  }

  const int device_;
  const char* stray_ = nullptr;
};

}  // namespace

const char* stray_member(const cuda::Launch& launch, int device) {
  Reach reach(device);
  reach.look(launch);
  return reach.stray();
}

const char* stray_member(const cuda::CodingLaunch& launch, int device) {
  Reach reach(device);
  reach.look(launch);
  return reach.stray();
}

}  // namespace casync::compll::emulated
