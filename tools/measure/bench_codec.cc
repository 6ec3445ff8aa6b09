// SPDX-License-Identifier: Apache-2.0
#include "tools/measure/bench_codec.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <random>

#include "base/check.h"
#include "base/clock.h"
#include "compll/codec/tile_memory.h"
#include "compll/ops/cpu/linear.h"

namespace casync::tools {
namespace {

// Processor seconds of this thread alone: time of others that share the core does not count.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Memory as frameworks hand it out: aligned, and touched ahead of all measuring.
template <class T>
class Memory {
 public:
  explicit Memory(std::size_t size) : data_(static_cast<T*>(::operator new(size * sizeof(T), kAlignment))) {
    std::memset(static_cast<void*>(data_), 0, size * sizeof(T));
  }
  ~Memory() { ::operator delete(data_, kAlignment); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  T* get() { return data_; }

 private:
  static constexpr std::align_val_t kAlignment{4096};
  T* data_;
};

// Gaussian, from a short period so that filling does not take longer than measuring.
void fill(float* values, Elements n) {
  constexpr Elements kPeriod = (1 << 16) + 1;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (Elements i = 0; i < n; ++i) values[i] = i < kPeriod ? normal(random) : values[i - kPeriod];
}

// Calls pass() until the time is over, at least three times; the best counts, because others share the machine.
template <class Pass>
double best_seconds(double seconds, const Pass& pass) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  double best = 0;
  for (int round = 0; round < 3 || Clock::now() < end; ++round) {
    const double start = thread_seconds();
    pass();
    const double taken = thread_seconds() - start;
    if (round == 0 || taken < best) best = taken;
  }
  return best;
}

// Calls body(partition, first element, elements) for all partitions.
template <class Body>
void for_partitions(const CodecBenchOptions& options, const Body& body) {
  for (Elements first = 0, p = 0; first < options.total; first += options.partition, ++p) {
    body(p, first, std::min(options.partition, options.total - first));
  }
}

double relative_error(const float* a, const float* b, Elements n) {
  double error = 0, norm = 0;
  for (Elements i = 0; i < n; ++i) {
    const double difference = static_cast<double>(a[i]) - b[i];
    error += difference * difference;
    norm += static_cast<double>(a[i]) * a[i];
  }
  return error / norm;
}

}  // namespace

// A codec with the memory of a model of `total` elements.
class CodecPasses::Bench {
 public:
  Bench(const compll::Codec& codec, const CodecBenchOptions& options)
      : codec_(codec),
        options_(options),
        slot_(round_up(codec.encoded_bound(options.partition), 64)),
        values_(options.total),
        residual_in_(codec.info().states * options.total),
        residual_out_(codec.info().states * options.total),
        decoded_(options.total),
        merged_(slot_ * partitions()) {
    fill(values_.get(), options.total);
    for (int i = 0; i < options.merged; ++i)
      codes_.push_back(std::make_unique<Memory<std::byte>>(slot_ * partitions()));
    sizes_.resize(static_cast<std::size_t>(options.merged) * partitions());
    for (int i = 0; i < options.merged; ++i) encode(i);
    merge_only(options.merged);
  }

  CodecBenchResult run() {
    CodecBenchResult result;
    const double code = code_bytes();
    const double residual = 2.0 * sizeof(float) * codec_.info().states;
    result.codec = codec_.info().name;
    result.options = options_;
    result.payload_bits = 8 * code;
    result.encode = {best_seconds(options_.seconds, [&] { encode(0); }), sizeof(float) + residual + code};
    result.decode = {best_seconds(options_.seconds, [&] { decode(); }), sizeof(float) + code};
    result.merge = merge_time(options_.merged);
    result.error = relative_error(values_.get(), decoded_.get(), options_.total);
    return result;
  }

  /// Merges the first `codes` codes.
  OperationTime merge_time(int codes) {
    merge_only(codes);
    const double code = code_bytes();
    const double residual = 2 * sizeof(float) * codec_.info().states, own = options_.own ? sizeof(float) : 0;
    const double seconds = best_seconds(options_.seconds, [&] { merge(); });
    merge_only(options_.merged);
    return {seconds, (codes + 1) * code + residual + own};
  }

  void encode(int i) {
    for_partitions(options_, [&](Elements p, Elements first, Elements n) {
      size_of(i, p) = codec_.encode(values_.get() + first, n, residual(first), {}, code(i, p)).size;
    });
  }
  void decode() {
    for_partitions(options_, [&](Elements p, Elements first, Elements n) {
      codec_.decode({code(0, p), size_of(0, p)}, n, decoded_.get() + first);
    });
  }
  void merge() {
    const float scale = 1.0f / static_cast<float>(terms_.size());
    for_partitions(options_, [&](Elements p, Elements first, Elements n) {
      for (int i = 0; i < codes_merged_; ++i) {
        terms_[static_cast<std::size_t>(i)].code = {code(i, p), size_of(i, p)};
      }
      if (options_.own) terms_.back().raw = values_.get() + first;
      codec_.merge(terms_, n, scale, codec_, residual(first), {}, merged_.get() + p * slot_);
    });
  }

 private:
  void merge_only(int codes) {
    codes_merged_ = codes;
    terms_.assign(static_cast<std::size_t>(codes) + (options_.own ? 1 : 0), {});
  }
  Elements partitions() const { return ceil_div(options_.total, options_.partition); }
  std::byte* code(int i, Elements partition) { return codes_[static_cast<std::size_t>(i)]->get() + partition * slot_; }
  Bytes& size_of(int i, Elements partition) { return sizes_[static_cast<std::size_t>(i) * partitions() + partition]; }
  /// Bytes of a payload for each element.
  double code_bytes() {
    Bytes sum = 0;
    for (Elements p = 0; p < partitions(); ++p) sum += size_of(0, p);
    return static_cast<double>(sum) / static_cast<double>(options_.total);
  }
  compll::Residual residual(Elements first) {
    if (codec_.info().states == 0) return {};
    return {residual_in_.get() + first, residual_out_.get() + first, options_.total};
  }

  const compll::Codec& codec_;
  CodecBenchOptions options_;
  Bytes slot_;  // of one partition's payload
  Memory<float> values_, residual_in_, residual_out_, decoded_;
  Memory<std::byte> merged_;
  std::vector<std::unique_ptr<Memory<std::byte>>> codes_;
  std::vector<Bytes> sizes_;  // of payloads, those of one code after the other
  int codes_merged_ = 0;
  std::vector<compll::Contribution> terms_;
};

double gigabytes_per_second(const OperationTime& operation, Elements total) {
  return operation.bytes_per_element * static_cast<double>(total) / operation.seconds / 1e9;
}

OperationTime measure_copy(const CodecBenchOptions& options) {
  const auto none = compll::make_codec("none");
  CASYNC_CHECK(none.is_ok());
  Memory<float> from(options.total), to(options.total);
  const double by_memcpy = best_seconds(options.seconds, [&] {
    for_partitions(options, [&](Elements, Elements first, Elements n) {
      std::memcpy(to.get() + first, from.get() + first, n * sizeof(float));
    });
  });
  const double by_none = best_seconds(options.seconds, [&] {
    for_partitions(options, [&](Elements, Elements first, Elements n) {
      (*none)->decode({reinterpret_cast<const std::byte*>(from.get() + first), n * sizeof(float)}, n, to.get() + first);
    });
  });
  return {std::min(by_memcpy, by_none), 2 * sizeof(float)};
}

OperationTime measure_sum(const CodecBenchOptions& options) {
  Memory<float> values(options.total), residual(options.total), to(options.total);
  const double seconds = best_seconds(options.seconds, [&] {
    for_partitions(options, [&](Elements, Elements first, Elements n) {
      float* const out = to.get() + first;
      const compll::Write mode = compll::residual_mode(out, n);
      compll::store_scaled({values.get() + first, 1, residual.get() + first}, n, out, mode);
      compll::finish_writes(mode);
    });
  });
  return {seconds, 3 * sizeof(float)};
}

CodecPasses::CodecPasses(const compll::Codec& codec, const CodecBenchOptions& options) {
  CASYNC_CHECK(options.partition >= 1 && options.total >= options.partition && options.merged >= 1);
  bench_ = std::make_unique<Bench>(codec, options);
}

CodecPasses::~CodecPasses() = default;
void CodecPasses::encode() { bench_->encode(0); }
void CodecPasses::decode() { bench_->decode(); }
void CodecPasses::merge() { bench_->merge(); }
CodecBenchResult CodecPasses::measure() { return bench_->run(); }
OperationTime CodecPasses::measure_merge(int codes) { return bench_->merge_time(codes); }

CodecBenchResult measure_codec(const compll::Codec& codec, const CodecBenchOptions& options) {
  return CodecPasses(codec, options).measure();
}

}  // namespace casync::tools
