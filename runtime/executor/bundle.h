// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/units.h"
#include "base/view.h"
#include "casync/primitives/primitive.h"
#include "runtime/executor/task_part.h"

namespace casync::runtime {

class GradientRun;

/// Payloads of small gradients in one buffer, each as its codec makes it alone:
///
///   count (8 bytes), count entries {gradient's key, offset, bytes} (16), bits of the finite ones (8 for each 64),
///   parts
///
/// Parts begin at multiples of 16; bytes between them are zero. Little-endian.
struct BundleEntry {
  std::uint64_t key = 0;
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
};
static_assert(sizeof(BundleEntry) == 16);

/// Most gradients in a bundle, and most bytes of one on the wire.
inline constexpr std::size_t kMostBundled = 256;
inline constexpr Bytes kMostBundleBytes = 512_KiB;
/// Most memory of a bundle's gradients together.
inline constexpr Bytes kBundleMemory = 64_KiB;

/// Marks a message whose payload is a bundle: stands in the place of the partition, of which its gradients have one.
inline constexpr std::uint32_t kBundledPartition = ~0u - 1;

/// The small gradients that a bundle's run stands for, and how it is going with them in a step.
///
/// Threads: the progress thread's; members and the places of their parts are fixed once built.
class Bundle {
 public:
  /// Its part is here and not in its run: tasks go through the parts of thousands of gradients one after the other, and
  /// each run lies in a page of its own. Measured with 2,000 gradients: tasks waited for two lines of each run for a
  /// fifth of the processor's time, although these were fetched ahead.
  struct Member : TaskPart {
    GradientRun* run = nullptr;
  };

  /// Lays out the parts of these, which are alike: in their order, with the codecs of the first.
  explicit Bundle(std::span<GradientRun* const> runs);
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;

  /// By key.
  std::span<const Member> members() const { return members_; }
  /// As members.
  std::span<const BundleEntry> entries(Hop hop) const { return entries_[static_cast<std::size_t>(hop)]; }
  /// Bytes of a buffer.
  Bytes bytes(Hop hop) const { return bytes_[static_cast<std::size_t>(hop)]; }
  View part(View buffer, Hop hop, std::size_t member) const;

  /// A batch of starts has a member's `step` over `data`. Returns true if it is the batch's first of this bundle.
  bool offer(std::uint32_t member, View data, std::uint32_t step);
  /// Ends the batch. Returns true if it has had all members.
  bool take_offer();
  std::uint32_t offered_step() const { return step_; }
  /// Members have begun `step` one by one.
  void begin_alone(std::uint32_t step) { alone_until_ = step + 1; }
  /// Returns true if they have, in no later step than that.
  bool has_begun_alone(std::uint32_t step) const { return alone_until_ == step + 1; }

  /// A step begins as a bundle.
  void begin() { sends_begun_ = sends_out_ = 0; }
  /// It begins for each member.
  void begin_members(Clock::time_point now);
  /// A message is handed over to the transport, or reported as sent.
  void begin_send() {
    ++sends_begun_;
    ++sends_out_;
  }
  void end_send() { --sends_out_; }
  /// Returns true if a message of this step was handed over, and if one has not been reported yet.
  bool has_begun_sends() const { return sends_begun_ != 0; }
  bool has_sends_out() const { return sends_out_ != 0; }

 private:
  std::vector<Member> members_;
  std::array<std::vector<BundleEntry>, 4> entries_;  ///< by hop, then as members
  std::array<Bytes, 4> bytes_{};                     ///< of a buffer, by hop

  std::uint32_t step_ = 0;         ///< of the batch of starts under way
  std::size_t offered_ = 0;        ///< members that the batch of starts under way has
  std::uint32_t alone_until_ = 0;  ///< 1 + the last step in which members began one by one

  std::size_t sends_begun_ = 0;  ///< handed over to the transport in this step
  std::size_t sends_out_ = 0;    ///< sends begun and not yet reported as sent
};

/// The place of a small gradient's run in the bundle that it may travel in.
///
/// Threads: as Bundle.
class BundleSeat {
 public:
  BundleSeat() = default;
  BundleSeat(const BundleSeat&) = delete;
  BundleSeat& operator=(const BundleSeat&) = delete;

  void take(GradientRun& bundle, std::uint32_t place) {
    bundle_ = &bundle;
    place_ = place;
  }
  void leave() { bundle_ = nullptr; }
  /// Null: the gradient travels alone.
  GradientRun* bundle() const { return bundle_; }
  /// Among its members.
  std::uint32_t place() const { return place_; }

 private:
  GradientRun* bundle_ = nullptr;
  std::uint32_t place_ = 0;
};

/// Writes count, entries and zeros for the rest of the head.
void write_bundle_head(std::span<const BundleEntry> entries, View buffer);
/// Zeroes the bytes between parts.
void clear_bundle_gaps(std::span<const BundleEntry> entries, View buffer);
bool bundle_part_is_finite(ConstView buffer, std::size_t count, std::size_t at);
void set_bundle_part_finite(View buffer, std::size_t count, std::size_t at, bool finite);
/// Bytes of head for `count` parts: where the first part begins.
Bytes bundle_head_bytes(std::size_t count);

/// A bundle from outside. Empty: not one.
std::vector<BundleEntry> read_bundle(ConstView buffer);

/// Groups those runs that may travel as bundles: alike on all ranks that know the same gradients. What another rank
/// bundles otherwise is taken apart where it arrives, so this is a matter of speed only.
std::vector<std::vector<GradientRun*>> group_small(std::span<GradientRun* const> runs);

}  // namespace casync::runtime
