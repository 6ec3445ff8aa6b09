// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "casync/graph/rounds.h"
#include "runtime/collective/round_transport.h"
#include "runtime/device/host/host_device.h"
#include "runtime/device/host/host_view.h"
#include "runtime/executor/kernel_table.h"
#include "runtime/executor/round_bucket.h"
#include "runtime/executor/run_states.h"
#include "runtime/session/declarations.h"

namespace casync::test {

/// A transport that keeps the call under way, which join() carries out. A call while the last one is not in the stream
/// is a mistake, and so is one after the end.
class HeldRounds final : public runtime::RoundTransport {
 public:
  Status exchange(std::span<const runtime::RoundPiece> to_send, std::span<const runtime::RoundPiece> to_recv) override {
    begin();
    sends.assign(to_send.begin(), to_send.end());
    recvs.assign(to_recv.begin(), to_recv.end());
    reduced = {};
    return answer;
  }
  Status all_reduce(runtime::DeviceView memory, runtime::Reduction reduction) override {
    begin();
    sends.clear();
    recvs.clear();
    reduced = memory;
    how = reduction;
    return answer;
  }
  Result<bool> poll() override { return is_in_stream; }
  Status close(Clock::time_point) override {
    is_closed = true;
    return answer;
  }
  void abort() override { is_aborted = true; }
  bool wait_for_abort(Clock::time_point) override { return ends_by_abort; }
  std::string description() const override { return "held"; }

  std::vector<runtime::RoundPiece> sends, recvs;  ///< of an exchange
  runtime::DeviceView reduced;                    ///< of an all-reduce
  runtime::Reduction how{};
  Status answer;             ///< to each call, and to close()
  bool is_in_stream = true;  ///< the answer to poll()
  bool ends_by_abort = true;
  bool is_closed = false, is_aborted = false;

 private:
  void begin() const { CASYNC_CHECK(is_in_stream && !is_closed && !is_aborted); }
};

/// One rank's gradients in a bucket of their own, on a device that is the host.
struct RoundsRank {
  /// The codec of each; "": it is all-reduced. `powersgd` has matrices of 64 x 64, others 100 elements.
  RoundsRank(Rank self, int ranks, const std::vector<std::string>& codecs) {
    const Topology topology = Topology::flat(ranks);
    std::vector<RoundGradient> gradients;
    for (std::size_t g = 0; g < codecs.size(); ++g) {
      Plan plan;
      if (!codecs[g].empty()) plan.defaults.codec = CodecChoice{codecs[g], {}};
      const std::vector<std::int64_t> shape =
          codecs[g] == "powersgd" ? std::vector<std::int64_t>{64, 64} : std::vector<std::int64_t>{100};
      const auto declared =
          runtime::declare_gradient(plan, {"layer" + std::to_string(g), DType::kFloat32, shape, 0}, topology);
      owned.push_back(std::move(runtime::make_run(*declared, topology, self, 0)).value());
      runtime::GradientRun& run = *owned.back();
      CASYNC_CHECK(runtime::allocate_kept(run, *device).is_ok());
      run.for_each([&](runtime::GradientRun& one) {
        one.move_to_device();
        CASYNC_CHECK(kernels.take_in(one).is_ok());
      });
      values.emplace_back(run.elements);
      runs.push_back(&run);
      gradients.push_back({&run.graph, run.spec.bytes(), codecs[g].empty() || run.rounds != nullptr});
    }
    bucket = make_rounds(gradients, Bytes{1} << 30).value()[0];
  }
  runtime::RoundTasks::Settings settings() const { return {.seed = 5, .scale = 0.5f, .kernels = kernels}; }
  /// All gradients begin `step` with elements `value`.
  void begin(std::uint32_t step, float value) {
    for (std::size_t g = 0; g < runs.size(); ++g) {
      std::fill(values[g].begin(), values[g].end(), value);
      runs[g]->begin(step, {});
      runs[g]->device.begin(runtime::DeviceView::of(values[g].data(), values[g].size() * sizeof(float)), nullptr);
    }
  }
  /// The parts of the bucket that are of `kind`.
  std::vector<runtime::RoundPart> parts(runtime::RoundPart::Kind kind) const {
    std::vector<runtime::RoundPart> found;
    for (const runtime::RoundPart& part : runtime::parts_of(bucket, runs)) {
      if (part.kind == kind) found.push_back(part);
    }
    return found;
  }

  const std::unique_ptr<runtime::Device> device = runtime::make_host_device();
  const std::unique_ptr<runtime::Stream> stream = std::move(device->make_stream(false)).value();
  runtime::KernelTable kernels{*device, 0.5f};
  HeldRounds transport;
  std::vector<std::unique_ptr<runtime::GradientRun>> owned;
  std::vector<runtime::GradientRun*> runs;
  std::vector<std::vector<float>> values;  ///< by gradient
  Bucket bucket;
};

/// Carries out the all-reduce of two ranks.
inline void reduce(HeldRounds& one, HeldRounds& other) {
  const View a = runtime::host_view(one.reduced), b = runtime::host_view(other.reduced);
  CASYNC_CHECK(a.size == b.size && one.how == other.how);
  if (one.how == runtime::Reduction::kMostOfBytes) {
    for (Bytes i = 0; i < a.size; ++i) a.data[i] = std::max(a.data[i], b.data[i]);
  } else {
    auto* const sums = reinterpret_cast<float*>(a.data);
    for (Bytes i = 0; i < a.size / sizeof(float); ++i) sums[i] += reinterpret_cast<const float*>(b.data)[i];
  }
  std::copy_n(a.data, a.size, b.data);
}

/// Carries out the call that two ranks have made.
inline void join(HeldRounds& one, HeldRounds& other) {
  if (!one.reduced.is_null()) return reduce(one, other);
  const auto move = [](const HeldRounds& from, const HeldRounds& to) {
    CASYNC_CHECK(from.sends.size() == to.recvs.size());
    for (std::size_t i = 0; i < from.sends.size(); ++i) {
      const View source = runtime::host_view(from.sends[i].memory), place = runtime::host_view(to.recvs[i].memory);
      CASYNC_CHECK(source.size == place.size);
      std::copy_n(source.data, source.size, place.data);
    }
  };
  move(one, other);
  move(other, one);
}

}  // namespace casync::test
