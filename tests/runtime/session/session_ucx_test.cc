// SPDX-License-Identifier: Apache-2.0
//
// Sessions over the real transports: the result may not depend on which one carried it, or on who came first.
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <random>
#include <thread>

#include "compll/codec/codec.h"
#include "runtime/session/session.h"
#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/lacks_ucx.h"
#include "tests/runtime/session/ways.h"
#include "tests/support/ranks.h"
#include "tests/support/temporary_directory.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)

namespace {

constexpr int kRanks = 3;
constexpr std::size_t kGradients = 6;

std::size_t elements_of(std::size_t gradient) { return gradient == 0 ? 700001 : 999 * gradient; }

/// Three steps of six gradients; what rank 0 holds at the end, all gradients one after the other.
std::string train(const std::string& transport, const std::string& codec, unsigned delays, std::vector<float>& last) {
  return casync::test::with_sessions(
      kRanks,
      [&](SessionOptions& options) {
        options.codec = CodecChoice{codec, {}};
      },
      [&](Session& session, RankContext& context) -> std::string {
        std::mt19937 values(static_cast<unsigned>(context.rank)), pauses(delays + static_cast<unsigned>(context.rank));
        std::vector<std::vector<float>> gradients(kGradients);
        std::vector<GradientId> ids;
        for (std::size_t i = 0; i < kGradients; ++i) {
          gradients[i].resize(elements_of(i));
          const auto extent = static_cast<std::int64_t>(elements_of(i));
          const Result<GradientId> id = session.declare({"g" + std::to_string(i), DType::kFloat32, {extent}, 0});
          if (!id) return id.status().text();
          ids.push_back(*id);
        }
        for (int step = 0; step < 3; ++step) {
          for (std::size_t i = 0; i < kGradients; ++i) {
            for (float& value : gradients[i]) value = std::normal_distribution<float>()(values);
            std::this_thread::sleep_for(std::chrono::microseconds(pauses() % 2000));
            const Submission one{ids[i], {reinterpret_cast<std::byte*>(gradients[i].data()), gradients[i].size() * 4}};
            if (Result<std::vector<Handle>> handles = session.submit({&one, 1}); !handles) {
              return handles.status().text();
            }
          }
          if (const Result<StepResult> done = session.step(); !done) return done.status().text();
        }
        if (context.rank == 0) {
          last.clear();
          for (const std::vector<float>& one : gradients) last.insert(last.end(), one.begin(), one.end());
        }
        return "";
      },
      transport);
}

}  // namespace

TEST_CASE("session: the same bytes over every transport and in whatever order messages come") {
  for (const char* codec : {"none", "int4", "onebit"}) {
    std::vector<float> wanted;
    REQUIRE(train("loopback", codec, 1, wanted) == "");
    for (const char* transport : {"loopback", "ucx", "ucx:tcp", "ucx:shm"}) {
      std::vector<float> got;
      const std::string complaints = train(transport, codec, 77, got);
      if (lacks_ucx(complaints)) continue;
      INFO(transport << ", " << codec);
      REQUIRE(complaints == "");
      CHECK(got == wanted);
    }
  }
}

TEST_CASE("session: every codec there is, for 2, 3 and 4 ranks over TCP, gives the bytes of the loopback") {
  casync::test::TemporaryDirectory directory;
  const std::vector<std::string> names = compll::codec_names();
  const std::string path = directory.path() + "/plan.txtpb";
  std::ofstream plan(path);
  plan << "version: 1\ndefault { codec { name: \"none\" } strategy: ps partition_bytes: 8192 }\n";
  for (const std::string& name : names)
    plan << "rule { match: \"" << name << ".*\" codec { name: \"" << name << "\" } }\n";
  plan.close();
  const auto results = [&](int ranks, const std::string& transport, std::vector<std::vector<float>>& last) {
    last.assign(static_cast<std::size_t>(ranks), {});
    return casync::test::with_sessions(
        ranks, [&](SessionOptions& options) { options.plan_file = path; },
        [&](Session& session, RankContext& context) -> std::string {
          std::vector<GradientId> ids;
          for (const std::string& name : names) {
            const Result<GradientId> id = declare(session, name + ".weight", 5003);
            if (!id) return id.status().text();
            ids.push_back(*id);
          }
          for (std::uint32_t step = 0; step < 3; ++step) {
            std::vector<std::vector<float>> values;
            for (std::size_t i = 0; i < names.size(); ++i) {
              values.push_back(contribution(context.rank, 5003, step * 100 + static_cast<std::uint32_t>(i)));
              const Submission one{ids[i], view_of(values.back())};
              if (auto handles = session.submit({&one, 1}); !handles) return handles.status().text();
            }
            const Result<StepResult> done = session.step();
            if (!done) return done.status().text();
            if (!done->finite) return "step " + std::to_string(step) + " is not finite";
            std::vector<float>& all = last[static_cast<std::size_t>(context.rank)];
            for (const std::vector<float>& one : values) all.insert(all.end(), one.begin(), one.end());
          }
          return "";
        },
        transport);
  };
  for (int ranks : {2, 3, 4}) {
    INFO("ranks " << ranks);
    std::vector<std::vector<float>> wanted, got;
    REQUIRE(results(ranks, "loopback", wanted) == "");
    const std::string complaints = results(ranks, "ucx:tcp", got);
    if (lacks_ucx(complaints)) continue;
    REQUIRE(complaints == "");
    for (const std::vector<float>& one : got) CHECK(one == wanted[0]);
  }
}

TEST_CASE("session: every strategy gives the same bytes over every transport, for 2, 3 and 4 ranks") {
  constexpr std::size_t kElements = 300007;
  for (int ranks : {2, 3, 4}) {
    for (const Way& way : ways_of(ranks)) {
      if (way.nodes.starts_with("ab")) continue;  // other nodes, the same messages
      std::vector<float> wanted;
      for (const char* transport : {"loopback", "ucx:tcp", "ucx:shm"}) {
        std::vector<std::vector<float>> results(static_cast<std::size_t>(ranks));
        const std::string complaints = with_way(
            ranks, way, named("int4"), "partitions: 5", ReduceOp::kAverage,
            [&](Session& session, RankContext& context) -> std::string {
              const Result<GradientId> id = declare(session, "weight", kElements);
              if (!id) return id.status().text();
              for (std::uint32_t step = 0; step < 2; ++step) {
                std::vector<float>& values = results[static_cast<std::size_t>(context.rank)];
                values = contribution(context.rank, kElements, step);
                if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
                if (const Result<StepResult> done = session.step(); !done) return done.status().text();
              }
              return "";
            },
            transport);
        if (lacks_ucx(complaints)) continue;
        INFO(way.strategy << " " << way.nodes << ", " << ranks << " ranks, " << transport);
        REQUIRE(complaints == "");
        for (const std::vector<float>& one : results) CHECK(one == results[0]);
        if (wanted.empty()) wanted = results[0];
        CHECK(results[0] == wanted);
      }
    }
  }
}
