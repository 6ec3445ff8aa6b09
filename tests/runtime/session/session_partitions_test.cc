// SPDX-License-Identifier: Apache-2.0
//
// The number of partitions of which a plan says nothing: sessions, the simulator and the commands have the same.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <limits>
#include <regex>
#include <variant>

#include "casync/planner/search/payload_bits.h"
#include "casync/strategies/owners.h"
#include "casync/strategies/reduce_scatter.h"
#include "compll/codec/codec.h"
#include "compll/codec/rounds_codec.h"
#include "runtime/session/declarations.h"
#include "runtime/session/hop_codecs.h"
#include "tools/casync/codec_facts.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

Plan plan_of(const CodecChoice& first, const CodecChoice& second) {
  Plan plan;
  plan.defaults.codec = first;
  plan.defaults.second_hop = second;
  return plan;
}
Plan plan_of(const CodecChoice& codec) { return plan_of(codec, codec); }

Decision simulated(const Plan& plan, const GradientSpec& spec, int ranks) {
  return decide(plan, spec, ranks, payload_bits(tools::facts_of));
}

std::vector<CodecChoice> all_codecs() {
  std::vector<CodecChoice> all;
  for (const auto& names : {compll::codec_names(), compll::rounds_codec_names()}) {
    for (const std::string& name : names) all.push_back({name, {}});
  }
  all.push_back({"topk", {{"ratio", 0.001}}});
  all.push_back({"int8", {{"block", 16}}});
  all.push_back({CASYNC_EXAMPLE_CODEC, {{"block", 64}}});
  return all;
}

std::vector<GradientSpec> bert_large() {
  std::ifstream file(CASYNC_BERT_LARGE);
  const std::regex pattern("gradient \\{ name: \"([^\"]+)\" shape: \\[(\\d+)(?:, (\\d+))?\\].*");
  std::vector<GradientSpec> gradients;
  for (std::string line; std::getline(file, line);) {
    std::smatch found;
    if (!std::regex_match(line, found, pattern)) continue;
    gradients.push_back({found[1], DType::kFloat32, {std::stoll(found[2])}});
    if (found[3].matched) gradients.back().shape.push_back(std::stoll(found[3]));
  }
  REQUIRE(gradients.size() > 390);
  return gradients;
}

struct Traffic {
  std::size_t messages = 0;                                 ///< that rank 0 sends in a step
  Bytes least_payload = std::numeric_limits<Bytes>::max();  ///< of gradients in several partitions
};

Traffic traffic_of(const std::string& name, int ranks) {
  const Topology topology = Topology::flat(ranks);
  const Plan plan = plan_of({name, {}});
  const auto codec = compll::make_codec(name);
  REQUIRE(codec.status().text() == "OK");
  const std::vector<GradientSpec> gradients = bert_large();
  std::vector<Decision> decisions;
  std::vector<OwnedGradient> owned;
  for (const GradientSpec& spec : gradients) {
    decisions.push_back(decide(plan, spec, ranks, payload_bits_of));
    owned.push_back({spec.name, spec.elements(), decisions.back().partitions});
  }
  const std::vector<std::size_t> owners = first_owners(owned, topology);
  Traffic traffic;
  for (std::size_t g = 0; g < gradients.size(); ++g) {
    const Elements elements = gradients[g].elements();
    const auto graph = make_graph(decisions[g], elements, topology, 0, owners[g], traits_of);
    REQUIRE(graph.status().text() == "OK");
    traffic.messages +=
        static_cast<std::size_t>(std::count_if(graph->tasks().begin(), graph->tasks().end(), [](const Primitive& task) {
          return std::holds_alternative<Send>(task);
        }));
    const auto count = static_cast<std::size_t>(decisions[g].partitions);
    for (std::size_t p = 0; p < count && count > 1; ++p) {
      const Bytes payload = (*codec)->encoded_bound(partition_slice(elements, count, p).count);
      traffic.least_payload = std::min(traffic.least_payload, payload);
    }
  }
  return traffic;
}

}  // namespace

TEST_CASE("default partitions: BERT-large on 1,024 ranks sends half of the messages with onebit, of 16 KiB") {
  const Traffic none = traffic_of("none", 1024), onebit = traffic_of("onebit", 1024), topk = traffic_of("topk", 1024);
  CAPTURE(none.messages, onebit.messages, topk.messages);
  CAPTURE(none.least_payload, onebit.least_payload, topk.least_payload);
  CHECK(none.messages > 12'000);
  CHECK(none.messages <= 13'000);
  CHECK(none.least_payload >= 256_KiB);
  CHECK(onebit.messages <= 6'200);
  CHECK(onebit.least_payload >= kLeastPayloadBytes);
  CHECK(topk.messages <= 4'000);
  CHECK(topk.least_payload >= kLeastPayloadBytes);
}

TEST_CASE("default partitions: a session has those of the simulator and the commands, with every codec") {
  const std::vector<std::vector<std::int64_t>> shapes{{1000}, {300, 300}, {1024, 1024}, {4096, 1024}, {3001, 7001}};
  std::size_t declared_ones = 0, fewer = 0;
  for (const CodecChoice& codec : all_codecs()) {
    for (const int ranks : {1, 2, 8, 64, 300}) {
      for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
        for (const std::vector<std::int64_t>& shape : shapes) {
          const GradientSpec spec{"weight", dtype, shape};
          const Result<Declared> declared = declare_gradient(plan_of(codec), spec, Topology::flat(ranks));
          CAPTURE(text_of(codec), ranks, name_of(dtype), spec.elements(), declared.status().text());
          if (!declared) {
            CHECK((codec.name == "patch" || dtype != DType::kFloat32));
            continue;
          }
          ++declared_ones;
          CHECK(declared->decision.partitions == simulated(plan_of(codec), spec, ranks).partitions);
          if (declared->decision.partitions < simulated({}, spec, ranks).partitions) ++fewer;
        }
      }
    }
  }
  CHECK(declared_ones > 1000);
  CHECK(fewer > 100);
}

TEST_CASE("default partitions: a session has those of the simulator with two codecs, with servers and with shards") {
  const std::string names[] = {"none", "onebit", "int4", "topk"};
  for (const std::string& first : names) {
    for (const std::string& second : names) {
      for (const int servers : {0, 5}) {
        Plan plan = plan_of({first, {}}, {second, {}});
        if (servers > 0) plan.defaults.servers = Servers{servers, false};
        GradientSpec spec{"weight", DType::kFloat32, {1024, 1024}};
        const Result<Declared> declared = declare_gradient(plan, spec, Topology::flat(64));
        CAPTURE(first, second, servers);
        REQUIRE(declared.status().text() == "OK");
        CHECK(declared->decision.partitions == simulated(plan, spec, 64).partitions);
        spec.scattered = true;
        const Result<Declared> shards = declare_gradient(plan, spec, Topology::flat(64));
        REQUIRE(shards.status().text() == "OK");
        CHECK(shards->decision.partitions == shard_partitions(simulated(plan, spec, 64).partitions, 64));
      }
    }
  }
}
