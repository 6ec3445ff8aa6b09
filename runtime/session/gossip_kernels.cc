// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/gossip_kernels.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "compll/codec/element_limit.h"
#include "compll/codec/registry.h"
#include "runtime/device/stream.h"

namespace casync::runtime {
namespace {

constexpr std::size_t kMostMembers = 3;

using Parameters = std::vector<std::pair<std::string, double>>;

/// The kernels of a program of compll/codecs, with what they mean.
class Program {
 public:
  static Result<Program> make(Device& device, const std::string& name, const Parameters& parameters = {}) {
    Result<std::unique_ptr<compll::Codec>> codec = compll::make_built_in_codec(name, parameters);
    if (!codec) return codec.status();
    Result<std::unique_ptr<CodecKernels>> kernels = device.kernels(name, **codec);
    if (!kernels) return kernels.status();
    Program program;
    program.codec_ = std::move(*codec);
    program.kernels_ = std::move(*kernels);
    return program;
  }
  CodecKernels& kernels() const { return *kernels_; }
  Bytes payload_bytes(Elements n) const { return codec_->encoded_bound(n); }

 private:
  std::unique_ptr<compll::Codec> codec_;
  std::unique_ptr<CodecKernels> kernels_;
};

/// The launches and copies of one turn, and the memory that they take: vectors first, then what launches share.
/// Without a stream it counts.
class Work {
 public:
  Work() = default;
  Work(DeviceView room, View pinned, Stream& stream) : room_(room), pinned_(pinned), stream_(&stream) {}

  /// Returns memory until the turn is over. Called ahead of the first launch.
  DeviceView take(Bytes bytes) {
    CASYNC_CHECK(launches_ == 0);
    const Bytes at = std::exchange(vectors_, vectors_ + round_up(bytes, kAlignment));
    if (stream_ == nullptr) return {kAlignment, bytes};
    CASYNC_CHECK(vectors_ <= room_.size());
    return room_.slice(at, bytes);
  }
  Status launch(const Program& program, std::span<const KernelCall> batch) {
    CASYNC_CHECK(launches_ < kMostLaunches);
    const std::size_t at = launches_++;
    if (stream_ == nullptr) {
      const Result<KernelRoom> needs = program.kernels().room(batch);
      if (!needs) return needs.status();
      launch_.device = std::max(launch_.device, needs->device);
      launch_.pinned = std::max(launch_.pinned, round_up(needs->pinned, kAlignment));
      return Status::ok();
    }
    const Bytes pinned = pinned_.size / kMostLaunches / kAlignment * kAlignment;
    const DeviceView rest = room_.slice(vectors_, room_.size() - vectors_);
    return program.kernels().issue(batch, rest, pinned_.slice(at * pinned, pinned), *stream_);
  }
  Status copy(DeviceView from, DeviceView to) {
    return stream_ == nullptr ? Status::ok() : stream_->copy(from, to.slice(0, from.size()));
  }
  Status clear(DeviceView memory) { return stream_ == nullptr ? Status::ok() : stream_->fill(memory, std::byte{0}); }
  KernelRoom counted() const { return {vectors_ + launch_.device, kMostLaunches * launch_.pinned}; }

 private:
  static constexpr Bytes kAlignment = 256;
  static constexpr std::size_t kMostLaunches = 2;
  DeviceView room_;
  View pinned_;
  Stream* stream_ = nullptr;
  Bytes vectors_ = 0;
  std::size_t launches_ = 0;
  KernelRoom launch_;  ///< the most that one takes
};

/// Array `at` of `n` floats.
DeviceView array_of(DeviceView floats, std::size_t at, Elements n) {
  const Bytes bytes = n * sizeof(float);
  return floats.slice(at * bytes, bytes);
}

class GossipKernels : public TurnKernels {
 public:
  Result<Elements> scratch(Elements, Elements) override { return heads() * kDevicePayloadHead / sizeof(float); }

  Result<KernelRoom> room(const TurnCall& call) override {
    if (const Elements n = call.rows * call.columns; n > compll::kMostElements) {
      return unimplemented("gossip with codecs takes its turns on a GPU with gradients of at most 2^31 elements, and " +
                           ("this one has " + std::to_string(n)) + ": use codec `none` for it");
    }
    Work counting;
    if (Status status = queue(call, counting); !status) return status;
    return counting.counted();
  }
  Status issue(const TurnCall& call, DeviceView room, View pinned, Stream& stream) override {
    Work work(room, pinned, stream);
    return queue(call, work);
  }

 protected:
  explicit GossipKernels(std::size_t members) : members_(members) { CASYNC_CHECK(members <= kMostMembers); }

  virtual Status queue(const TurnCall& call, Work& work) = 0;

  /// The place of a payload's head in the scratch.
  static DeviceView head(const TurnCall& call, std::size_t at) {
    return call.scratch.slice(at * kDevicePayloadHead, kDevicePayloadHead);
  }
  /// Changes all copies by `program`, each by its array of `by`. Leaves the payloads' heads from `first_head` on.
  Status change_copies(const Program& program, std::span<const DeviceView> by, std::size_t first_head,
                       const TurnCall& call, Work& work) const {
    const Elements n = call.rows * call.columns;
    std::array<KernelCall, kMostMembers> calls;
    for (std::size_t i = 0; i < members_; ++i) {
      KernelCall& one = calls[i];
      one.n = n;
      one.in = by[i];
      one.payload = work.take(program.payload_bytes(n));
      one.kept_in = array_of(call.kept_in, i, n);
      one.kept_out = array_of(call.kept_out, i, n);
      one.kept_stride = n;
      one.context = call.context;
    }
    CASYNC_RETURN_IF_ERROR(work.launch(program, {calls.data(), members_}));
    for (std::size_t i = 0; i < members_; ++i) {
      CASYNC_RETURN_IF_ERROR(work.copy(calls[i].payload.slice(0, kDevicePayloadHead), head(call, first_head + i)));
    }
    return Status::ok();
  }

  const std::size_t members_;
};

class DifferenceKernels final : public GossipKernels {
 public:
  DifferenceKernels(std::size_t members, std::size_t own, Program difference, Program copy, Program move)
      : GossipKernels(members),
        own_(own),
        difference_(std::move(difference)),
        copy_(std::move(copy)),
        move_(std::move(move)) {}

  /// The head of this rank's parameters, then those of all differences.
  std::size_t heads() const override { return 1 + members_; }

 private:
  Status queue(const TurnCall& call, Work& work) override {
    if (call.rows * call.columns == 0) return work.clear(call.scratch);
    return call.number == 0 ? hand_out(call, work) : move(call, work);
  }

  Status hand_out(const TurnCall& call, Work& work) const {
    const Elements n = call.rows * call.columns;
    KernelCall encode;
    encode.n = n;
    encode.in = call.gradient;
    encode.payload = work.take(difference_.payload_bytes(n));
    encode.kept_in = array_of(call.kept_in, own_, n);
    encode.kept_stride = n;
    encode.context = call.context;
    CASYNC_RETURN_IF_ERROR(work.launch(difference_, {&encode, 1}));
    CASYNC_RETURN_IF_ERROR(work.copy(encode.payload.slice(0, kDevicePayloadHead), head(call, 0)));
    return work.copy(encode.payload.slice(kDevicePayloadHead, n * sizeof(float)), array_of(call.exchanged[0], own_, n));
  }

  Status move(const TurnCall& call, Work& work) const {
    const Elements n = call.rows * call.columns;
    std::array<DeviceView, kMostMembers> differences;
    for (std::size_t i = 0; i < members_; ++i) differences[i] = array_of(call.exchanged[0], i, n);
    // Kernels read three copies. Where there are fewer, the rank's own one stands for the others: no way leads there.
    const bool lacks = members_ < kMostMembers;
    const DeviceView copies = lacks ? work.take(kMostMembers * n * sizeof(float)) : call.kept_out;
    CASYNC_RETURN_IF_ERROR(change_copies(copy_, differences, 1, call, work));
    for (std::size_t i = 0; lacks && i < kMostMembers; ++i) {
      const DeviceView from = array_of(call.kept_out, i < members_ ? i : own_, n);
      CASYNC_RETURN_IF_ERROR(work.copy(from, array_of(copies, i, n)));
    }
    KernelCall result;
    result.function = KernelFunction::kResult;
    result.n = n;
    result.in = call.gradient;
    result.out = call.out;
    result.kept_in = copies;
    result.kept_stride = n;
    result.context = call.context;
    return work.launch(move_, {&result, 1});
  }

  const std::size_t own_;
  const Program difference_, copy_, move_;
};

class ConsensusKernels final : public GossipKernels {
 public:
  ConsensusKernels(std::size_t members, Program copy) : GossipKernels(members), copy_(std::move(copy)) {}

  std::size_t heads() const override { return members_; }

 private:
  Status queue(const TurnCall& call, Work& work) override {
    const Elements n = call.rows * call.columns;
    if (n == 0) return work.clear(call.scratch);
    const DeviceView mean = array_of(call.exchanged[0], 0, n);
    if (call.number == 0) return work.copy(array_of(call.gradient, 0, n), mean);
    std::array<DeviceView, kMostMembers> means;
    means.fill(mean);
    CASYNC_RETURN_IF_ERROR(change_copies(copy_, means, 0, call, work));
    return work.copy(mean, call.out);
  }

  const Program copy_;
};

}  // namespace

Result<std::unique_ptr<TurnKernels>> make_difference_kernels(Device& device, std::size_t members, std::size_t own,
                                                             float part) {
  Result<Program> difference = Program::make(device, "gossip_difference");
  if (!difference) return difference.status();
  Result<Program> copy = Program::make(device, "gossip_copy");
  if (!copy) return copy.status();
  Result<Program> move = Program::make(device, "gossip_move", {{"own", static_cast<double>(own)}, {"part", part}});
  if (!move) return move.status();
  return std::unique_ptr<TurnKernels>(
      std::make_unique<DifferenceKernels>(members, own, std::move(*difference), std::move(*copy), std::move(*move)));
}

Result<std::unique_ptr<TurnKernels>> make_consensus_kernels(Device& device, std::size_t members) {
  Result<Program> copy = Program::make(device, "gossip_copy", {{"adds", 0}});
  if (!copy) return copy.status();
  return std::unique_ptr<TurnKernels>(std::make_unique<ConsensusKernels>(members, std::move(*copy)));
}

}  // namespace casync::runtime
