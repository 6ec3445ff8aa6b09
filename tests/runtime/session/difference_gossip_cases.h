// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "casync/strategies/exchange.h"
#include "compll/codec/codec.h"
#include "tests/runtime/session/plan_file.h"
#include "tests/runtime/session/ways.h"

/// Helpers of the tests of gossip with codecs.
namespace casync::test {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

/// A step of parameters.
inline std::string exchange(Session& session, GradientId id, Floats& values) {
  if (session.exchanged() != Exchanged::kParameters) return "the step exchanges something else";
  return step(session, id, values);
}

inline std::set<std::size_t> members_of(std::size_t rank, std::size_t ranks) {
  return {rank, (rank + 1) % ranks, (rank + ranks - 1) % ranks};
}

/// D(E(x)), partition by partition, without a residual.
inline Floats through(const compll::Codec& codec, const Floats& x, std::size_t partitions) {
  Floats out(x.size());
  for (std::size_t p = 0; p < partitions; ++p) {
    const Slice slice = partition_slice(x.size(), partitions, p);
    std::vector<std::byte> payload(codec.encoded_bound(slice.count));
    const compll::Encoded made = codec.encode(x.data() + slice.first, slice.count, {}, {}, payload.data());
    codec.decode({payload.data(), made.size}, slice.count, out.data() + slice.first);
  }
  return out;
}

struct TestedCodec {
  std::string text;  // as in a plan
  std::string name;
  std::vector<std::pair<std::string, double>> parameters;  // what it uses
};

inline const std::vector<TestedCodec> kCodecs = {
    {R"(name: "int8")", "int8", {}},
    {R"(name: "onebit")", "onebit", {{"feedback", 0}}},
    {R"(name: "topk" param { key: "ratio" value: 0.05 })", "topk", {{"ratio", 0.05}, {"feedback", 0}}},
};

inline std::unique_ptr<compll::Codec> made(const TestedCodec& codec) {
  auto result = compll::make_codec(codec.name, codec.parameters);
  REQUIRE(result.status().text() == "OK");
  return std::move(*result);
}

inline double squared_distance_from_mean(const std::vector<Floats>& x) {
  double sum = 0;
  for (std::size_t e = 0; e < x[0].size(); ++e) {
    double mean = 0;
    for (const Floats& one : x) mean += static_cast<double>(one[e]) / static_cast<double>(x.size());
    for (const Floats& one : x) sum += std::pow(static_cast<double>(one[e]) - mean, 2);
  }
  return sum;
}

}  // namespace casync::test
