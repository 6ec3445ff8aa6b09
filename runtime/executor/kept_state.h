// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "base/units.h"
#include "casync/model/plan.h"
#include "casync/primitives/primitive.h"
#include "compll/codec/codec.h"
#include "runtime/device/device.h"

namespace casync::runtime {

/// The task that a codec keeps floats for.
enum class KeptBy : std::uint8_t { kEncode, kMerge, kResult };

/// The floats that the codecs of a gradient keep from step to step: arrays of as many as it has elements, as the last
/// committed step left them, and as the step under way writes them. The two are the same memory where a step changes
/// them in place.
///
/// Threads: one at a time writes. Tasks of a step read and write disjoint slices of the memory.
class KeptState {
 public:
  /// The floats that are kept of a slice. Of bfloat16 a task widens `in`, and rounds what it makes into `out`. In one
  /// buffer the two are the same, and a task copies `in` first: codecs read it while they write `out`.
  struct Slices {
    DeviceView in, out;
    Elements stride = 0;  ///< in elements
  };

  /// The places of a gradient's arrays in a step: all that a task needs to find what is kept of a slice.
  struct Arrays {
    std::uint64_t in = 0, out = 0;        ///< addresses; 0: nothing is there
    Elements elements = 0;                ///< in each array
    Bytes bytes = 0;                      ///< of all arrays
    std::array<std::uint8_t, 3> first{};  ///< the first array of each KeptBy
    DType type = DType::kFloat32;

    /// As KeptState::of and from.
    Slices of(const compll::Codec& codec, KeptBy use, Slice slice) const {
      if (codec.info().states == 0) return {};
      return from((first[static_cast<std::size_t>(use)] * elements + slice.first) * bytes_of(type));
    }
    Slices from(Bytes at) const { return {{in + at, bytes - at}, {out + at, bytes - at}, elements}; }
  };

  /// Keeps nothing: a bundle, whose members keep theirs.
  KeptState() = default;
  /// Lays out what codecs of these two hops keep. `memory`: the plan's choice. `floats`: so many instead, in no arrays.
  KeptState(const compll::CodecInfo& first, const compll::CodecInfo& second, Elements elements, ResidualMemory memory,
            std::optional<Elements> floats = std::nullopt);
  KeptState(const KeptState&) = delete;
  KeptState& operator=(const KeptState&) = delete;

  // Once, ahead of allocate().
  /// Keeps copies of the gradient, which a step changes at once. There is no other memory to go back to.
  void keep_copies(std::size_t copies);
  /// Uses what `lender` keeps, and has nothing itself.
  void share(const KeptState& lender) {
    shares_ = true;
    lender_ = &lender;
  }
  bool shares() const { return shares_; }
  /// Returns true if a gradient can go on with this instead of the other.
  bool is_like(const KeptState& other) const;

  /// With one buffer it begins anew after a step that is not finite.
  ResidualMemory memory() const { return memory_; }
  bool is_in_place() const { return is_in_place_; }
  DType type() const { return memory_ == ResidualMemory::kBFloat16 ? DType::kBFloat16 : DType::kFloat32; }
  Elements floats() const { return floats_; }
  Bytes bytes() const { return floats_ * bytes_of(type()); }
  /// Returns true if it is one float of each element that is 0 ahead of the first step, or none.
  bool is_residual() const;

  /// Allocates memory of its own, if it keeps something. Unavailable: no memory.
  Status allocate(Device& device);
  /// Lies in a block that several share: in this piece, and in one of its size `distance` further.
  void lie_in(std::shared_ptr<DeviceBuffer> block, Bytes at, Bytes distance);

  // Between steps. Unavailable: as Device::read and Device::write.
  /// Gives it the values that it has ahead of the first step.
  Status reset(Device& device);
  /// All floats() of it, as the last committed step left them.
  Status read(Device& device, std::span<float> to) const;
  Status write(Device& device, std::span<const float> values);
  /// The step's state is the one to go on from.
  void commit() { committed_ = 1 - committed_; }

  /// The part that `codec` keeps for `slice` in tasks of this kind; null if it keeps none.
  Slices of(const compll::Codec& codec, KeptBy use, Slice slice) const { return arrays().of(codec, use, slice); }
  /// All of it from this byte on, in one array.
  Slices from(Bytes first) const { return arrays().from(first); }
  /// The same for the step that is about to begin or under way.
  Arrays arrays() const {
    const KeptState& keeper = shares_ ? *lender_ : *this;
    return {
        keeper.at_[keeper.committed_], keeper.at_[1 - keeper.committed_], elements_, keeper.bytes(), first_, type()};
  }

 private:
  // A small gradient's step touches these, in one cache line with the names of its run.
  std::array<std::uint64_t, 2> at_{};  ///< addresses; 0: nothing is there
  Elements elements_ = 0;
  Elements floats_ = 0;
  std::array<std::uint8_t, 3> first_{};  ///< the first array of each KeptBy
  std::uint8_t committed_ = 0;           ///< which of the two the last committed step left
  ResidualMemory memory_ = ResidualMemory::kTwoBuffers;
  bool is_in_place_ = false;
  bool shares_ = false;

  const KeptState* lender_ = nullptr;
  std::vector<float> initial_;  ///< the first value of the floats of each array
  std::array<std::unique_ptr<DeviceBuffer>, 2> own_;
  std::shared_ptr<DeviceBuffer> block_;  ///< instead of own_
};

}  // namespace casync::runtime
