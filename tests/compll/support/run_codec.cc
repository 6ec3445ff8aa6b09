// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/support/run_codec.h"

#include <cmath>
#include <cstring>

#include "base/check.h"
#include "compll/codec/coded/coded_codec.h"

namespace casync::compll {

std::unique_ptr<Codec> codec_of(const std::string& name, const Parameters& parameters) {
  Result<std::unique_ptr<Codec>> codec = make_codec(name, parameters);
  CASYNC_CHECK(codec.is_ok());
  return std::move(codec).value();
}

std::vector<std::string> first_names() { return {"none", "bf16", "fp16", "int8", "int4", "onebit"}; }

std::vector<std::unique_ptr<Codec>> all_codecs() {
  std::vector<std::unique_ptr<Codec>> codecs;
  for (const std::string& name : first_names()) {
    codecs.push_back(codec_of(name));
    if (codecs.back()->info().block == 1) continue;
    for (double block : {64.0, 512.0, 65536.0}) codecs.push_back(codec_of(name, {{"block", block}}));
  }
  codecs.push_back(codec_of("int8", {{"block", 16}}));
  codecs.push_back(codec_of("int4", {{"block", 16}}));
  return codecs;
}

std::string title(const Codec& codec) { return codec.info().name + ", block " + std::to_string(codec.info().block); }

Coded encode(const Codec& codec, std::span<const float> in, std::span<const float> residual_in,
             const EncodeContext& context) {
  Coded coded;
  coded.payload.resize(codec.encoded_bound(in.size()));
  coded.residual.resize(std::max<std::size_t>(codec.info().states, 1) * in.size());
  CASYNC_CHECK(residual_in.empty() || residual_in.size() == coded.residual.size());
  const Residual residual{residual_in.empty() ? nullptr : residual_in.data(), coded.residual.data(), in.size()};
  const Encoded encoded = codec.encode(in.data(), in.size(), residual, context, coded.payload.data());
  CASYNC_CHECK(encoded.size <= coded.payload.size());
  CASYNC_CHECK(encoded.size == coded.payload.size() || size_varies(codec));
  coded.payload.resize(encoded.size);
  coded.finite = encoded.finite;
  return coded;
}

std::vector<float> decode(const Codec& codec, const Coded& coded, Elements n) {
  std::vector<float> out(n);
  codec.decode(coded.view(), n, out.data());
  return out;
}

std::vector<float> round_trip(const Codec& codec, std::span<const float> x) {
  return decode(codec, encode(codec, x), x.size());
}

bool same_bytes(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

double relative_error(std::span<const float> a, std::span<const float> b) {
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - b[i];
    error += difference * difference;
    norm += static_cast<double>(a[i]) * a[i];
  }
  return error / norm;
}

double larger_error(double a, double b) { return std::isnan(b) || b > a ? b : a; }

}  // namespace casync::compll
