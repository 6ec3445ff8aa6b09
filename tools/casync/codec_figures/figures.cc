// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/codec_figures/figures.h"

#include "compll/codec/coded/coded_codec.h"
#include "tools/casync/codec_figures/samples.h"
#include "tools/casync/codec_figures/trial.h"
#include "tools/measure/bench_codec.h"

namespace casync::tools {
namespace {

constexpr Elements kErrorElements = Elements{1} << 16;

double relative_error(const compll::Codec& codec, const std::vector<float>& x) {
  const std::vector<float> decoded = decode(codec, encode(codec, x), x.size());
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double difference = static_cast<double>(decoded[i]) - x[i];
    error += difference * difference;
    norm += static_cast<double>(x[i]) * x[i];
  }
  return error / norm;
}

Speeds speeds_of(const compll::Codec& codec, double seconds) {
  CodecBenchOptions options;
  options.partition = Elements{1} << 20;
  options.total = Elements{1} << 24;
  options.seconds = seconds;
  Speeds speeds{"on one core", gigabytes_per_second(measure_copy(options), options.total), {}};
  const CodecBenchResult result = measure_codec(codec, options);
  const auto add = [&](const char* name, const OperationTime& time, double kept) {
    speeds.operations.push_back({name, time.bytes_per_element, kept, gigabytes_per_second(time, options.total)});
  };
  const double kept = 2.0 * sizeof(float) * codec.info().states;  // read and written
  add("encode", result.encode, kept);
  add("decode", result.decode, 0);
  add("merge of 4", result.merge, kept);
  return speeds;
}

}  // namespace

Figures measure_figures(const compll::Codec& codec, double seconds) {
  Figures figures;
  const Elements many = Elements{1} << 24;
  figures.bits = compll::size_varies(codec)
                     ? codec.info().bits_per_element
                     : 8 * static_cast<double>(codec.encoded_bound(many)) / static_cast<double>(many);
  figures.gaussian = relative_error(codec, gaussian_sample(kErrorElements, 1));
  figures.heavy_tails = relative_error(codec, heavy_sample(kErrorElements, 2));
  if (seconds > 0) figures.speeds = speeds_of(codec, seconds);
  return figures;
}

}  // namespace casync::tools
