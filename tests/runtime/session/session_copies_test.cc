// SPDX-License-Identifier: Apache-2.0
//
// Sessions with op `copy`: bytes go from rank to rank as they are, and gradients are summed.
#include <catch2/catch.hpp>
#include <cstring>
#include <optional>
#include <random>

#include "runtime/device/device.h"
#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/lacks_ucx.h"
#include "tests/support/ranks.h"

using namespace casync;        // NOLINT(google-build-using-namespace)
using namespace casync::test;  // NOLINT(google-build-using-namespace)

namespace {

void copies(SessionOptions& options) { options.op = ReduceOp::kCopy; }

GradientSpec words(const std::string& name, std::size_t count) {
  return {name, DType::kFloat32, {static_cast<std::int64_t>(count)}};
}

/// Any bits: NaN with payloads, -0.0, denormals, and numbers that are not finite, which no sum leaves as they are.
std::vector<float> bits_of(int rank, std::size_t count, std::uint32_t salt) {
  std::mt19937 random(1000 * salt + static_cast<unsigned>(rank));
  std::vector<float> values(count);
  for (float& value : values) {
    const std::uint32_t word = random();
    std::memcpy(&value, &word, sizeof word);
  }
  const std::uint32_t odd[] = {0x7f800001, 0xff812345, 0x80000000, 0x00000001, 0x7f800000};
  std::memcpy(values.data(), odd, std::min(sizeof odd, count * sizeof(float)));
  return values;
}

bool same_bytes(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// A broadcast and a gather in one step, for a few steps.
std::string copy_both(Session& session, int rank, std::size_t shard, Rank root) {
  const auto ranks = static_cast<std::size_t>(session.ranks());
  const Result<GradientId> cast = session.declare_copied(words("cast", shard), root);
  const Result<GradientId> gathered = session.declare_copied(words("gathered", shard * ranks), std::nullopt);
  if (!cast || !gathered) return cast.status().text() + gathered.status().text();
  for (std::uint32_t number = 0; number < 3; ++number) {
    std::vector<float> one = bits_of(rank, shard, number), all(shard * ranks, 5.0F), wanted;
    const std::vector<float> own = one;
    std::copy(own.begin(), own.end(), all.begin() + rank * static_cast<long>(shard));
    for (int r = 0; r < session.ranks(); ++r) {
      const std::vector<float> theirs = bits_of(r, shard, number);
      wanted.insert(wanted.end(), theirs.begin(), theirs.end());
    }
    const std::vector<Submission> both = {{*cast, view_of(one)}, {*gathered, view_of(all)}};
    if (const auto handles = session.submit(both); !handles) return handles.status().text();
    const Result<StepResult> done = session.step();
    if (!done) return done.status().text();
    if (!done->finite) return "a step is not finite, and nobody has looked";
    if (!same_bytes(one, bits_of(root, shard, number))) return "other bytes than the root's";
    if (!same_bytes(all, wanted)) return "other bytes than those of all ranks";
  }
  return "";
}

}  // namespace

TEST_CASE("session copies: every rank gets the bytes of the root and of all ranks, whatever they are") {
  for (const int ranks : {1, 2, 3, 4}) {
    for (const std::size_t shard : {1, 5, 5000, 300000}) {
      INFO(ranks << " ranks, " << shard << " words");
      CHECK(with_sessions(ranks, copies, [&](Session& session, RankContext& context) {
              return copy_both(session, context.rank, shard, ranks - 1);
            }) == "");
    }
  }
}

TEST_CASE("session copies: over TCP, too") {
  const auto body = [](Session& session, RankContext& context) {
    return copy_both(session, context.rank, 1500000, 1);  // partitions that ranks send on
  };
  const std::string complaint = with_sessions(3, copies, body, "ucx:tcp");
  if (lacks_ucx(complaint)) return;
  CHECK(complaint == "");
}

TEST_CASE("session copies: what a rank sends is what it owns, and of a broadcast the root sends it once") {
  constexpr std::size_t kWords = 1 << 20;
  CHECK(with_sessions(3, copies, [&](Session& session, RankContext& context) -> std::string {
          const Result<GradientId> id = session.declare_copied(words("cast", kWords), 0);
          std::vector<float> values(kWords, 1.0F);
          if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
          const Bytes sent = session.stats().payload_bytes_sent;
          const Bytes wanted = context.rank == 0 ? 4 * kWords : 2 * kWords;
          return sent == wanted ? "" : std::to_string(sent) + " bytes sent";
        }) == "");
}

TEST_CASE("session copies: beside them gradients are summed in the order of the ranks, whole or in shards") {
  constexpr std::size_t kCount = 300000;  // several partitions
  CHECK(with_sessions(3, copies, [&](Session& session, RankContext& context) -> std::string {
          const auto addend = [](int rank, std::size_t i) {
            return 1.0F / static_cast<float>(7 * rank + 1 + i % 1000);
          };
          GradientSpec shards = words("shards", kCount);
          shards.scattered = true;
          const Result<GradientId> cast = session.declare_copied(words("cast", 5), 1);
          const Result<GradientId> sum = session.declare(words("sum", kCount)), scattered = session.declare(shards);
          if (!cast || !sum || !scattered) return sum.status().text() + scattered.status().text();
          std::vector<float> one = bits_of(context.rank, 5, 1), all(kCount), own;
          for (std::size_t i = 0; i < kCount; ++i) all[i] = addend(context.rank, i);
          own = all;
          if (!session.submit(
                  std::vector<Submission>{{*sum, view_of(all)}, {*cast, view_of(one)}, {*scattered, view_of(own)}})) {
            return "not submitted";
          }
          if (const Result<StepResult> done = session.step(); !done) return done.status().text();
          if (!same_bytes(one, bits_of(1, 5, 1))) return "other bytes than the root's";
          for (std::size_t i = 0; i < kCount; ++i) {
            const float wanted = addend(0, i) + addend(1, i) + addend(2, i);
            const bool mine = i / (kCount / 3) == static_cast<std::size_t>(context.rank);
            if (all[i] != wanted) return "sum of " + std::to_string(i) + " is " + std::to_string(all[i]);
            if (own[i] != (mine ? wanted : addend(context.rank, i))) return "shard's element " + std::to_string(i);
          }
          return "";
        }) == "");
}

TEST_CASE("session copies: refusals name what is wrong") {
  CHECK(with_sessions(2, copies, [&](Session& session, RankContext&) -> std::string {
          const auto text = [](const Result<GradientId>& result) { return result.status().text(); };
          if (text(session.declare_copied(words("w", 3), std::nullopt)) !=
              "InvalidArgument: w: 3 elements are not 2 equal shards, one for each rank: pad them to 4") {
            return text(session.declare_copied(words("w", 3), std::nullopt));
          }
          const std::string half = text(session.declare_copied({"w", DType::kFloat16, {4}, 0}, 0));
          if (half != "InvalidArgument: w: its type is float16, expected float32: op copy copies words of 4 bytes") {
            return half;
          }
          const std::string other = text(session.declare_copied(words("w", 3), 2));
          return other == "InvalidArgument: w: root is 2: the ranks are 0 to 1" ? "" : other;
        }) == "");
  CHECK(with_sessions(2, nullptr, [&](Session& session, RankContext&) -> std::string {
          const std::string text = session.declare_copied(words("w", 4), 0).status().text();
          return text.find("open one with op copy") != std::string::npos ? "" : text;
        }) == "");
  const std::string coded = with_sessions(
      1,
      [](SessionOptions& options) {
        options.op = ReduceOp::kCopy, options.codec = CodecChoice{"int8", {}};
      },
      [](Session&, RankContext&) { return ""; });
  CHECK(coded.find("op copy beside a plan or a codec") != std::string::npos);
}

TEST_CASE("session copies: ranks that copy other sizes learn it") {
  const std::string all = with_sessions(2, copies, [&](Session& session, RankContext& context) -> std::string {
    const Result<GradientId> id = session.declare_copied(words("w", context.rank == 0 ? 4 : 6), 0);
    std::vector<float> values(context.rank == 0 ? 4 : 6);
    return step(session, *id, values);
  });
  CHECK(all.find("rank 0: InvalidArgument") != std::string::npos);
  CHECK(all.find("16 bytes, from rank 0") != std::string::npos);
  CHECK(all.find("24 bytes, from rank 0") != std::string::npos);
}
