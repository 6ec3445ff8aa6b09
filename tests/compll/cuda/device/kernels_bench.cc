// SPDX-License-Identifier: Apache-2.0
//
// Compares kernels with a copy on the same GPU. usage: kernels_bench [--tiles|--stages] [ROOT [CODEC ...]];
// prints tables in Markdown. Bytes are the least that the codec can move (compllc --explain), feedback included where
// it has it. Other tables for kernels in vector form: --tiles, their time by the size of their tiles; --stages, the
// time of each stage of an encoding. Exit code 77: no GPU.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "compll/codec/coded/coded_codec.h"
#include "tests/compll/cuda/device/cuda_device.h"
#include "tests/compll/cuda/device/meaning.h"
#include "tests/compll/cuda/device/turn_batch.h"
#include "tests/compll/cuda/device/vector_form_batch.h"
#include "tests/compll/cuda/support/codecs.h"
#include "tests/compll/cuda/support/element_type.h"
#include "tests/compll/support/inputs.h"

namespace casync::compll::test {
namespace {

constexpr int kSkipped = 77;
constexpr std::uint32_t kMerged = kExplainedMerge;

/// So many vectors of n elements, in the device's memory, with all that encode, decode and merge take.
class Batch {
 public:
  /// `dtype`: of what encode reads and decode writes.
  Batch(CudaDevice& device, const cuda::Kernels& kernels, const Codec& meaning, std::uint32_t count, Elements n,
        DType dtype = DType::kFloat32)
      : device_(device), kernels_(kernels) {
    device.reset();
    payload_bytes_ = meaning.encoded_bound(n);
    const std::vector<float> values = gaussian(std::min<Elements>(n, 1 << 20), 1);
    for (std::uint32_t i = 0; i < count; ++i) {
      cuda::Segment segment;
      segment.n = n;
      segment.in = elements(device, n, values, dtype);
      segment.in_type = segment.out_type = element_type(dtype);
      if (meaning.info().feedback) {
        segment.residual_in = floats(n, values);
        segment.residual_out = floats(n, {});
      }
      if (const Elements states = meaning.info().states - (meaning.info().feedback ? 1 : 0); states != 0) {
        segment.states_in = floats(states * n, values);
        segment.states_out = floats(states * n, {});
        segment.state_stride = n;
      }
      segment.out = floats(n, {});
      segment.payload = reinterpret_cast<unsigned char*>(device.allocate(payload_bytes_));
      segment.gradient = i;
      segment.scale = 1.0f / kMerged;
      encode_.push_back(segment);
    }
    launch_ = launch_of(meaning);
    merge_ = decode_ = encode_;
    for (std::uint32_t i = 0; i < count; ++i) {
      merge_[i].contributions = contributions(encode_[i], kMerged);
      merge_[i].contribution_count = kMerged;
      merge_[i].payload = reinterpret_cast<unsigned char*>(device.allocate(payload_bytes_));
      decode_[i].contributions = merge_[i].contributions;
      decode_[i].contribution_count = 1;
    }
    encode_at_ = upload(encode_), merge_at_ = upload(merge_), decode_at_ = upload(decode_);
  }

  /// Makes the codes that decode() and merge() read.
  double encode() {
    const double seconds = run(encode_, encode_at_, kernels_.encode_statistics, kernels_.encode);
    for (const auto& [to, from] : copies_) device_.copy(to, from, payload_bytes_);
    return seconds;
  }
  double merge() { return run(merge_, merge_at_, kernels_.merge_statistics, kernels_.merge); }
  double decode() { return run(decode_, decode_at_, nullptr, kernels_.decode); }

 private:
  float* floats(Elements n, const std::vector<float>& values) {
    return reinterpret_cast<float*>(elements(device_, n, values, DType::kFloat32));
  }

  cuda::Launch launch_of(const Codec& meaning) {
    const cuda::Shape& shape = kernels_.shape;
    const std::vector<double>& values = meaning.info().values;
    cuda::Launch launch;
    cuda::Settings& settings = launch.codec;
    std::copy_n(values.begin(), std::min<std::size_t>(values.size(), cuda::kMostParameters), settings.parameters);
    if (shape.has_blocks) settings.block = static_cast<std::uint32_t>(meaning.info().block);
    settings.log2_block = static_cast<std::uint32_t>(std::countr_zero(settings.block));
    launch.segment_count = static_cast<std::uint32_t>(encode_.size());
    unit_ = cuda::unit_of(shape.has_blocks, shape.ordered, settings.block);
    tiles_ = cuda::place_tiles(encode_.data(), launch.segment_count, unit_);
    const std::size_t bytes = encode_.size() * shape.slots * sizeof(std::uint64_t);
    std::byte* workspace = device_.allocate(bytes);
    device_.fill(workspace, 0, bytes);
    launch.workspace = reinterpret_cast<cuda::uint64_t*>(workspace);
    return launch;
  }

  /// So many codes of a segment. Each has memory of its own: a code that is read again would come from the cache.
  const cuda::Contribution* contributions(const cuda::Segment& segment, std::uint32_t count) {
    std::vector<cuda::Contribution> all(1, {segment.payload, nullptr});
    while (all.size() < count) {
      std::byte* const copy = device_.allocate(payload_bytes_);
      copies_.emplace_back(copy, reinterpret_cast<const std::byte*>(segment.payload));
      all.push_back({reinterpret_cast<const unsigned char*>(copy), nullptr});
    }
    std::byte* at = device_.allocate(all.size() * sizeof all[0]);
    device_.upload(at, all.data(), all.size() * sizeof all[0]);
    return reinterpret_cast<const cuda::Contribution*>(at);
  }

  const cuda::Segment* upload(const std::vector<cuda::Segment>& segments) {
    std::byte* at = device_.allocate(segments.size() * sizeof segments[0]);
    device_.upload(at, segments.data(), segments.size() * sizeof segments[0]);
    return reinterpret_cast<const cuda::Segment*>(at);
  }

  double run(const std::vector<cuda::Segment>& all, const cuda::Segment* segments, cuda::Kernel statistics,
             cuda::Kernel kernel) {
    launch_.segments = segments;
    // The launch of statistics may be all of an encoding. A decoding has none, and is a launch.
    const auto count = static_cast<cuda::uint32_t>(all.size());
    const bool is_over = statistics != nullptr && !cuda::needs_second(kernels_.shape, all.data(), count);
    return device_.seconds([&] {
      if (statistics != nullptr) device_.launch(statistics, cuda::grid_of(tiles_, unit_), launch_);
      if (!is_over) device_.launch(kernel, cuda::grid_of(tiles_, unit_), launch_);
    });
  }

  CudaDevice& device_;
  const cuda::Kernels& kernels_;
  Bytes payload_bytes_ = 0;
  std::vector<cuda::Segment> encode_, merge_, decode_;
  const cuda::Segment *encode_at_ = nullptr, *merge_at_ = nullptr, *decode_at_ = nullptr;
  std::vector<std::pair<std::byte*, const std::byte*>> copies_;  ///< of codes: to and from
  cuda::Launch launch_;
  std::uint32_t unit_ = 0, tiles_ = 0;
};

/// Keeps the device busy until its clocks, which are low at rest, have risen.
void warm_up(CudaDevice& device) {
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  constexpr std::chrono::milliseconds kTime{500};
  device.reset();
  std::byte* const from = device.allocate(kBytes);
  std::byte* const to = device.allocate(kBytes);
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < kTime) {
    device.copy(to, from, kBytes);
    device.wait();
  }
}

/// Bytes read and written by a copy of n floats, per second.
double copy_speed(CudaDevice& device, Elements n) {
  device.reset();
  std::byte* from = device.allocate(n * sizeof(float));
  std::byte* to = device.allocate(n * sizeof(float));
  const double seconds = device.seconds([&] { device.copy(to, from, n * sizeof(float)); });
  return 2.0 * static_cast<double>(n) * sizeof(float) / seconds;
}

/// Returns true if a table has this codec: one of those wanted, or any but those that only tests have.
bool is_wanted(const std::string& root, const std::string& name, const std::vector<std::string>& wanted) {
  if (wanted.empty()) return std::filesystem::exists(root + "/compll/codecs/" + name + ".cll");
  return std::find(wanted.begin(), wanted.end(), name) != wanted.end();
}

/// One codec's line.
template <class Batches>
void print_row(const std::string& name, Batches& batch, double copy, const LeastBytes& least, double elements) {
  const double bytes[] = {least.encode, least.decode, least.merge};
  const double seconds[] = {batch.encode(), batch.decode(), batch.merge()};
  std::printf("| `%s` | %.2f, %.2f, %.2f |", name.c_str(), bytes[0], bytes[1], bytes[2]);
  for (int i = 0; i < 3; ++i) {
    std::printf(" %.0f GB/s, %.1f us |", bytes[i] * elements / seconds[i] / 1e9, seconds[i] * 1e6);
  }
  std::printf(" %.2f, %.2f, %.2f |\n", bytes[0] * elements / seconds[0] / copy, bytes[1] * elements / seconds[1] / copy,
              bytes[2] * elements / seconds[2] / copy);
  std::fflush(stdout);
}

void print_table(CudaDevice& device, const std::string& root, const std::vector<std::string>& wanted,
                 std::uint32_t count, Elements n) {
  const double copy = copy_speed(device, count * n);
  const double all = static_cast<double>(count) * static_cast<double>(n);
  std::printf("\n## %u x %llu elements\n\nA copy of as many floats moves %.0f GB/s.\n\n", count,
              static_cast<unsigned long long>(n), copy / 1e9);
  std::printf("| codec | bytes an element | encode | decode | merge of %u | of the copy |\n", kMerged);
  std::printf("|---|---|---|---|---|---|\n");
  for (const cuda::Kernels* kernels : kernels_of_codecs()) {
    if (!is_wanted(root, kernels->name, wanted)) continue;
    const std::unique_ptr<Codec> meaning = meaning_of(root, kernels->name, {});
    Batch batch(device, *kernels, without_coding(*meaning), count, n);
    print_row(kernels->name, batch, copy, least_bytes_of(root, kernels->name), all);
  }
  for (const cuda::VectorFormKernels* kernels : kernels_of_vector_form()) {
    if (!is_wanted(root, kernels->name, wanted)) continue;
    const std::unique_ptr<Codec> meaning = meaning_of(root, kernels->name, {});
    VectorFormBatch batch(device, *kernels, without_coding(*meaning), count, n, kMerged);
    print_row(kernels->name, batch, copy, least_bytes_of(root, kernels->name), all);
  }
}

/// One codec's line: encode and decode of gradients of this type. Elements of two bytes have two less.
template <class Batches>
void print_types(const std::string& name, Batches& batch, double copy, const LeastBytes& least, double elements,
                 DType dtype) {
  const double bytes_less = dtype == DType::kFloat32 ? 0 : 2;
  const double bytes[] = {least.encode - bytes_less, least.decode - bytes_less};
  const double seconds[] = {batch.encode(), batch.decode()};
  std::printf("| `%s` | %s | %.2f, %.2f |", name.c_str(), std::string(name_of(dtype)).c_str(), bytes[0], bytes[1]);
  for (int i = 0; i < 2; ++i) {
    std::printf(" %.0f GB/s, %.1f us |", bytes[i] * elements / seconds[i] / 1e9, seconds[i] * 1e6);
  }
  std::printf(" %.2f, %.2f |\n", bytes[0] * elements / seconds[0] / copy, bytes[1] * elements / seconds[1] / copy);
  std::fflush(stdout);
}

void print_halves(CudaDevice& device, const std::string& root, const std::vector<std::string>& wanted, Elements n) {
  const double copy = copy_speed(device, n);
  std::printf("\n## Half precision, %llu elements\n\n", static_cast<unsigned long long>(n));
  std::printf("| codec | gradient | bytes an element | encode | decode | of the copy |\n|---|---|---|---|---|---|\n");
  const std::vector<std::string> shown = {"int8", "int4", "onebit", "topk"};
  const auto is_shown = [&](const char* name) {
    return is_wanted(root, name, wanted) && std::find(shown.begin(), shown.end(), name) != shown.end();
  };
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    for (const cuda::Kernels* kernels : kernels_of_codecs()) {
      if (!is_shown(kernels->name)) continue;
      Batch batch(device, *kernels, *meaning_of(root, kernels->name, {}), 1, n, dtype);
      print_types(kernels->name, batch, copy, least_bytes_of(root, kernels->name), static_cast<double>(n), dtype);
    }
    for (const cuda::VectorFormKernels* kernels : kernels_of_vector_form()) {
      if (!is_shown(kernels->name)) continue;
      VectorFormBatch batch(device, *kernels, *meaning_of(root, kernels->name, {}), 1, n, kMerged,
                            cuda::kLargestVectorFormTile, dtype);
      print_types(kernels->name, batch, copy, least_bytes_of(root, kernels->name), static_cast<double>(n), dtype);
    }
  }
}

/// Prints times by the size of a tile, from which cuda::vector_form_tile_of should choose.
void print_tiles(CudaDevice& device, const std::string& root, const std::vector<std::string>& wanted, Elements n) {
  std::printf("\n## Tiles of %llu elements\n\n", static_cast<unsigned long long>(n));
  std::printf("| codec | a tile has at most | encode, us | decode, us | merge of %u, us |\n", kMerged);
  std::printf("|---|---|---|---|---|\n");
  for (const cuda::VectorFormKernels* kernels : kernels_of_vector_form()) {
    if (!is_wanted(root, kernels->name, wanted)) continue;
    const std::unique_ptr<Codec> meaning = meaning_of(root, kernels->name, {});
    for (std::uint32_t tile = 4096; tile <= 262144; tile *= 2) {
      VectorFormBatch batch(device, *kernels, without_coding(*meaning), 1, n, kMerged, tile);
      const double encode = batch.encode(), decode = batch.decode(), merge = batch.merge();
      std::printf("| `%s` | %u | %.1f | %.1f | %.1f |\n", kernels->name, tile, encode * 1e6, decode * 1e6, merge * 1e6);
      std::fflush(stdout);
    }
  }
}

/// Prints the time of each stage of an encoding.
void print_stages(CudaDevice& device, const std::string& root, const std::vector<std::string>& wanted, Elements n) {
  std::printf("\n## Stages of %llu elements\n\n", static_cast<unsigned long long>(n));
  std::printf("A copy takes %.1f us.\n\n", 8e6 * static_cast<double>(n) / copy_speed(device, n));
  std::printf("| codec | launch | us |\n|---|---|---|\n");
  for (const cuda::VectorFormKernels* kernels : kernels_of_vector_form()) {
    if (!is_wanted(root, kernels->name, wanted)) continue;
    const std::unique_ptr<Codec> meaning = meaning_of(root, kernels->name, {});
    VectorFormBatch batch(device, *kernels, without_coding(*meaning), 1, n, kMerged);
    for (const VectorFormBatch::Stages& stages : batch.stages_of_encoding()) {
      std::printf("| `%s` | %s |", kernels->name, stages.launch.c_str());
      for (const double time : stages.times) std::printf(" %.1f", time);
      std::printf(" |\n");
      std::fflush(stdout);
    }
  }
}

/// A step of powersgd without its exchanges: `compllc --explain` counts the bytes of an element.
void print_turns(CudaDevice& device, const std::string& root) {
  constexpr double kBytes[] = {12, 4, 12};
  std::printf("\n## Turns of `powersgd`\n\n| matrix | rank | turn 0 | turn 1 | turn 2 | of the copy |\n");
  std::printf("|---|---|---|---|---|---|\n");
  const std::pair<Elements, Elements> shapes[] = {{4096, 4096}, {1024, 1024}, {30522, 768}, {512, 4608}};
  for (const cuda::RoundsKernels* kernels : kernels_of_rounds()) {
    if (kernels->name != std::string("powersgd")) continue;
    for (const auto& [rows, columns] : shapes) {
      const double copy = copy_speed(device, rows * columns), n = static_cast<double>(rows * columns);
      for (const double rank : {1.0, 4.0, 8.0}) {
        TurnBatch batch(device, *kernels, *meaning_of_rounds(root, kernels->name, {{"rank", rank}}), rows, columns);
        const std::vector<double> seconds = batch.seconds();
        double all = 0;
        std::printf("| %llu x %llu | %.0f |", static_cast<unsigned long long>(rows),
                    static_cast<unsigned long long>(columns), rank);
        for (std::size_t turn = 0; turn < seconds.size(); ++turn) {
          std::printf(" %.0f GB/s, %.1f us |", kBytes[turn] * n / seconds[turn] / 1e9, seconds[turn] * 1e6);
          all += seconds[turn];
        }
        std::printf(" %.2f |\n", 28 * n / all / copy);
      }
    }
  }
}

int run(const std::string& what, const std::string& root, const std::vector<std::string>& wanted) {
  std::string reason;
  const std::unique_ptr<CudaDevice> device = CudaDevice::open(std::size_t{24} << 30, reason);
  if (!device) {
    std::printf("skipped: no device: %s\n", reason.c_str());
    return kSkipped;
  }
  constexpr Elements kMany = Elements{1} << 26, kSome = Elements{1} << 20;
  warm_up(*device);
  if (what == "--tiles") {
    print_tiles(*device, root, wanted, kMany);
    return 0;
  }
  if (what == "--stages") {
    for (const Elements n : {kMany, kSome}) print_stages(*device, root, wanted, n);
    return 0;
  }
  print_table(*device, root, wanted, 1, kMany);
  print_table(*device, root, wanted, 1, kSome);
  print_table(*device, root, wanted, 200, 1024);
  print_halves(*device, root, wanted, kMany);
  if (is_wanted(root, "powersgd", wanted)) print_turns(*device, root);
  return 0;
}

}  // namespace
}  // namespace casync::compll::test

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  std::string what;
  if (!arguments.empty() && arguments.front().starts_with("--")) {
    what = arguments.front();
    arguments.erase(arguments.begin());
  }
  const std::string root = arguments.empty() ? "." : arguments.front();
  if (!arguments.empty()) arguments.erase(arguments.begin());
  return casync::compll::test::run(what, root, arguments);
}
