// SPDX-License-Identifier: Apache-2.0
//
// The number of partitions of which a plan says nothing.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "casync/planner/decide.h"

namespace casync::test {
namespace {

constexpr double kShares[] = {1.0 / 1024, 0.109375 / 32, 0.02, 1.03125 / 32, 4.25 / 32, 8.125 / 32, 0.5, 0.95};

double bits_of(const CodecChoice& choice) {
  if (choice.name == "sparse") return 0.25;
  if (choice.name == "bit") return 1;
  if (choice.name == "byte") return 8;
  if (choice.name == "double") return 64;
  FAIL("asked about " + choice.name);
  return 0;
}

Plan plan_of(const std::string& first, const std::string& second = "") {
  Plan plan;
  plan.defaults.codec = CodecChoice{first, {}};
  if (!second.empty()) plan.defaults.second_hop = CodecChoice{second, {}};
  return plan;
}

int partitions(const Plan& plan, std::int64_t elements, int ranks, DType dtype = DType::kFloat32) {
  return decide(plan, {"weight", dtype, {elements}}, ranks, bits_of).partitions;
}

template <class Check>
void for_sizes_and_ranks(const Check& check) {
  for (const int ranks : {1, 2, 3, 4, 8, 13, 64, 255, 256, 1024, 5000}) {
    for (const int owners : {ranks, 1, (ranks + 1) / 2}) {
      for (Bytes bytes = 1; bytes < Bytes{1} << 36; bytes = bytes * 4 / 3 + 7) {
        CAPTURE(ranks, owners, bytes);
        check(bytes, ranks, owners);
      }
    }
  }
}

}  // namespace

TEST_CASE("default_partitions: those of kDefaultPartitionBytes where nothing is encoded") {
  for_sizes_and_ranks([](Bytes bytes, int ranks, int owners) {
    const int count = choose_partitions(bytes, ranks, owners, kDefaultPartitionBytes);
    REQUIRE(default_partitions(bytes, ranks, owners, 1) == count);
    REQUIRE(default_partitions(bytes, ranks, owners, 2) == count);
  });
}

TEST_CASE("default_partitions: payloads of at least 16 KiB, one partition at least, and no more than uncompressed") {
  for_sizes_and_ranks([](Bytes bytes, int ranks, int owners) {
    const int uncompressed = choose_partitions(bytes, ranks, owners, kDefaultPartitionBytes);
    for (const double share : kShares) {
      const int count = default_partitions(bytes, ranks, owners, share);
      CAPTURE(share, count, uncompressed);
      REQUIRE(count >= 1);
      REQUIRE(count <= uncompressed);
      REQUIRE((count < owners || count % owners == 0));
      const double payload = static_cast<double>(bytes) * share / count;
      REQUIRE((count == 1 || payload >= static_cast<double>(kLeastPayloadBytes)));
      // No larger than it takes, or than owners in turns take.
      if (count < uncompressed && count > 1 && count < owners) {
        REQUIRE(payload < static_cast<double>(kLeastPayloadBytes) * (count + 1) / count);
      }
      if (count < uncompressed && count >= owners) {
        REQUIRE(payload < static_cast<double>(kLeastPayloadBytes) * (count + owners) / count);
      }
    }
  });
}

TEST_CASE("default_partitions: more of larger gradients, and fewer of codes that are smaller") {
  for (const int ranks : {1, 2, 4, 8, 64, 256, 1024}) {
    for (const int owners : {ranks, (ranks + 1) / 2}) {
      int larger[std::size(kShares)] = {};
      for (Bytes bytes = 1; bytes < Bytes{1} << 34; bytes = bytes * 17 / 16 + 7) {
        int more = 0;
        for (std::size_t s = 0; s < std::size(kShares); ++s) {
          const int count = default_partitions(bytes, ranks, owners, kShares[s]);
          CAPTURE(ranks, owners, bytes, kShares[s]);
          REQUIRE(count >= larger[s]);
          REQUIRE(count >= more);
          larger[s] = more = count;
        }
      }
    }
  }
}

TEST_CASE("decide: a codec's payloads bound the default number of partitions, and no number that somebody names") {
  // 4 MiB of gradient on 64 ranks.
  CHECK(partitions({}, 1 << 20, 64) == 64);
  CHECK(partitions(plan_of("byte"), 1 << 20, 64) == 64);  // 16 KiB each
  CHECK(partitions(plan_of("bit"), 1 << 20, 64) == 8);
  CHECK(partitions(plan_of("sparse"), 1 << 20, 64) == 2);
  CHECK(partitions(plan_of("double"), 1 << 20, 64) == 64);
  Plan size = plan_of("bit"), number = plan_of("bit");
  size.defaults.partition_bytes = kDefaultPartitionBytes;
  CHECK(partitions(size, 1 << 20, 64) == 64);
  number.gradients = {{"weight", {.partitions = 40}}};
  CHECK(partitions(number, 1 << 20, 64) == 40);
  Plan served = plan_of("bit");
  served.defaults.servers = Servers{3, false};
  CHECK(partitions(served, 1 << 20, 64) == 6);
}

TEST_CASE("decide: two codecs count by the mean of their payloads, and what is not float32 by its own bytes") {
  CHECK(partitions(plan_of("bit", "byte"), 1 << 20, 64) == 36);  // 4.5 bits
  CHECK(partitions(plan_of("bit", "none"), 1 << 20, 64) == 64);
  GradientSpec scattered{"weight", DType::kFloat32, {1 << 20}};
  scattered.scattered = true;  // no second hop
  CHECK(decide(plan_of("bit", "byte"), scattered, 64, bits_of).partitions == 8);
  CHECK(partitions(plan_of("bit"), 1 << 20, 16, DType::kFloat16) == 8);
  CHECK(partitions(plan_of("bit", "none"), 1 << 20, 16, DType::kFloat16) == 16);
  CHECK(partitions(plan_of("double"), 1 << 20, 16, DType::kBFloat16) == 16);
}

TEST_CASE("decide: nobody is asked about a codec that makes no difference") {
  const Plan plan = plan_of("unknown");
  CHECK(partitions(plan, 100, 64) == 1);
  CHECK(partitions({}, 1 << 28, 64) == 1024);
  Plan named = plan;
  named.defaults.partitions = 7;
  CHECK(partitions(named, 1 << 28, 64) == 7);
}

TEST_CASE("decide: large gradients on few ranks keep partitions of 1 MiB, whose encoding overlaps what is sent") {
  for (const int ranks : {2, 4, 8}) {
    for (const char* codec : {"none", "byte", "bit"}) CHECK(partitions(plan_of(codec), 16 << 20, ranks) == 64);
  }
}

}  // namespace casync::test
