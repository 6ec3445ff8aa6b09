// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/codec/check/cuda_speeds.h"

#include <algorithm>
#include <vector>

#include "tools/casync/codec_figures/samples.h"

namespace casync::tools {
namespace {

namespace cuda = compll::cuda;
using compll::CudaDevice;
using compll::Launches;

constexpr Elements kPeriod = Elements{1} << 20;
constexpr std::uint32_t kMerged = 4;
constexpr int kFewest = 3, kMostRuns = 200;
constexpr int kHalvings = 4, kSideHalvings = 2;  // to a sixteenth

/// Memory of the device, as long as this lives.
class DeviceMemory final : public compll::LaunchMemory {
 public:
  explicit DeviceMemory(CudaDevice& device) : device_(device) {}
  ~DeviceMemory() override {
    for (std::byte* each : all_) device_.free(each);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  std::byte* give(const void* bytes, std::size_t size) override {
    std::byte* const at = room(size);
    if (at != nullptr) device_.upload(at, bytes, size);
    return at;
  }
  std::byte* work(std::size_t size, std::size_t zeroed) override {
    std::byte* const at = room(size);
    if (at != nullptr) device_.fill(at, 0, zeroed);
    return at;
  }
  float* zeros(Elements n) { return reinterpret_cast<float*>(work(n * sizeof(float), n * sizeof(float))); }

  /// The same numbers again and again, so that filling does not take longer than measuring.
  float* gaussian(Elements n) {
    std::byte* const at = room(n * sizeof(float));
    const std::vector<float> values = gaussian_sample(std::min(n, kPeriod), 1);
    if (at == nullptr) return nullptr;
    device_.upload(at, values.data(), values.size() * sizeof(float));
    for (Elements done = values.size(); done < n; done *= 2) {
      device_.copy(at + done * sizeof(float), at, std::min(done, n - done) * sizeof(float));
    }
    return reinterpret_cast<float*>(at);
  }

  std::byte* room(std::size_t size) {
    std::byte* const at = is_full_ ? nullptr : device_.allocate(size);
    is_full_ = at == nullptr;
    if (!is_full_) all_.push_back(at);
    return at;
  }
  /// Returns true if an allocation failed: then nothing may be launched.
  bool is_full() const { return is_full_; }

 private:
  CudaDevice& device_;
  std::vector<std::byte*> all_;
  bool is_full_ = false;
};

/// Seconds of a run, the median of several after one that does not count.
template <class Run>
double median_seconds(CudaDevice& device, double seconds, const Run& run) {
  std::vector<double> times;
  double spent = 0;
  run();
  for (int i = 0; i < kFewest || (i < kMostRuns && spent < seconds); ++i) {
    device.begin_timing();
    run();
    times.push_back(device.end_timing());
    spent += times.back();
    if (!device.status()) break;
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

double gb_s(double bytes_per_element, Elements n, double seconds) {
  return bytes_per_element * static_cast<double>(n) / seconds / 1e9;
}

double copy_speed(CudaDevice& device, DeviceMemory& memory, Elements n, double seconds) {
  std::byte* const from = memory.work(n * sizeof(float), n * sizeof(float));
  std::byte* const to = memory.room(n * sizeof(float));
  if (memory.is_full()) return 0;
  const auto copy = [&] { device.copy(to, from, n * sizeof(float)); };
  return gb_s(2 * sizeof(float), n, median_seconds(device, seconds, copy));
}

/// Returns an empty result if there is too little memory for n elements.
Speeds measure(const compll::CudaCodec& codec, CudaDevice& device, Elements n, double seconds) {
  DeviceMemory memory(device);
  const compll::CodecInfo& info = codec.info();
  const Bytes bytes = codec.encoded_bound(n);
  const Elements own_states = info.states - (info.feedback ? 1 : 0);
  cuda::Segment segment;
  segment.n = n;
  segment.in = memory.gaussian(n);
  segment.out = memory.zeros(n);
  if (info.feedback) {
    segment.residual_in = memory.zeros(n);
    segment.residual_out = memory.zeros(n);
  }
  if (own_states != 0) {
    segment.states_in = memory.zeros(own_states * n);
    segment.states_out = memory.zeros(own_states * n);
    segment.state_stride = n;
  }
  std::vector<cuda::Contribution> codes;
  std::vector<Launches> encodings;
  for (std::uint32_t i = 0; i < kMerged; ++i) {
    segment.payload = reinterpret_cast<unsigned char*>(memory.room(bytes));
    codes.push_back({segment.payload, nullptr});
    encodings.push_back(codec.kernels().encode({&segment, 1}, {}, memory));
  }
  cuda::Segment merged = segment, decoded = segment;
  merged.payload = reinterpret_cast<unsigned char*>(memory.room(bytes));
  merged.scale = 1.0f / kMerged;
  merged.contributions =
      reinterpret_cast<const cuda::Contribution*>(memory.give(codes.data(), kMerged * sizeof codes[0]));
  merged.contribution_count = kMerged;
  decoded.contributions = merged.contributions;
  decoded.contribution_count = 1;
  const Launches merge = codec.kernels().merge({&merged, 1}, {}, memory);
  const Launches decode = codec.kernels().decode({&decoded, 1}, false, memory);
  const double copy = copy_speed(device, memory, n, seconds);
  if (memory.is_full() || !device.status()) return {};
  for (const Launches& each : encodings) device.launch(each);
  Speeds speeds{"on the device", copy, {}};
  const double code = static_cast<double>(bytes) / static_cast<double>(n);
  const double kept = 2.0 * sizeof(float) * info.states;
  const auto add = [&](const char* name, const Launches& launches, double bytes_per_element, double of_kept) {
    const double time = median_seconds(device, seconds, [&] { device.launch(launches); });
    speeds.operations.push_back({name, bytes_per_element, of_kept, gb_s(bytes_per_element, n, time)});
  };
  add("encode", encodings.front(), sizeof(float) + kept + code, kept);
  add("decode", decode, sizeof(float) + code, 0);
  add("merge of 4", merge, (kMerged + 1) * code + kept, kept);
  return device.status().is_ok() ? speeds : Speeds();
}

Speeds measure_turns(const compll::CudaRoundsCodec& codec, CudaDevice& device, Elements side, double seconds) {
  DeviceMemory memory(device);
  const compll::RoundsShape shape = codec.shape(side, side);
  const Elements n = side * side;
  cuda::Segment segment;
  segment.n = n;
  segment.rows = segment.columns = side;
  segment.in = memory.gaussian(n);
  segment.out = memory.zeros(n);
  segment.states_in = memory.zeros(shape.states);
  segment.states_out = memory.zeros(shape.states);
  segment.scratch = memory.zeros(shape.scratch);
  for (std::size_t i = 0; i < shape.exchanged.size(); ++i) segment.exchanged[i] = memory.zeros(shape.exchanged[i]);
  Launches step;
  for (std::uint32_t turn = 0; turn <= codec.info().rounds; ++turn) {
    for (const compll::ReadyLaunch& each : codec.kernels().turn(turn, segment, {}, memory)) step.push_back(each);
  }
  const double copy = copy_speed(device, memory, n, seconds);
  if (memory.is_full() || !device.status()) return {};
  const double time = median_seconds(device, seconds, [&] { device.launch(step); });
  const double bytes = bytes_of_turns(shape, side, side);
  const double kept = 2.0 * sizeof(float) * static_cast<double>(shape.states) / static_cast<double>(n);
  if (!device.status()) return {};
  return {"on the device", copy, {{"step", bytes, kept, gb_s(bytes, n, time)}}};
}

}  // namespace

Speeds measure_on_cuda(const compll::CudaCodec& codec, CudaDevice& device, double seconds, Elements n) {
  for (int i = 0; i <= kHalvings && device.status(); ++i) {
    Speeds speeds = measure(codec, device, n >> i, seconds);
    if (!speeds.operations.empty()) return speeds;
  }
  return {};
}

Speeds measure_on_cuda(const compll::CudaRoundsCodec& codec, CudaDevice& device, double seconds, Elements side) {
  for (int i = 0; i <= kSideHalvings && device.status(); ++i) {
    Speeds speeds = measure_turns(codec, device, side >> i, seconds);
    if (!speeds.operations.empty()) return speeds;
  }
  return {};
}

}  // namespace casync::tools
