// SPDX-License-Identifier: Apache-2.0
//
// Sessions whose plans name servers. Servers that contribute are among the ways of every other test; here are those
// that do not, small gradients, and refusals.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "compll/codec/codec.h"
#include "tests/runtime/session/lacks_ucx.h"
#include "tests/runtime/session/ways.h"

using namespace casync;        // NOLINT(google-build-using-namespace)
using namespace casync::test;  // NOLINT(google-build-using-namespace)

namespace {

constexpr std::size_t kElements = 5003;

int servers_of(const Way& way) { return way.strategy.find("servers: 2") != std::string::npos ? 2 : 1; }

/// A rank's gradient; a server has something else in its memory, another one for each `salt`.
std::vector<float> held(int rank, int contributors, std::size_t elements, std::uint32_t step, std::uint32_t salt) {
  if (rank < contributors) return contribution(rank, elements, step);
  return salt == 0 ? std::vector<float>(elements, std::nanf("")) : contribution(rank, elements, 1000 * salt + step);
}

/// [rank] results of some steps with dedicated servers, one after the other.
std::string train(int ranks, const Way& way, const std::string& codec, const std::string& more, ReduceOp op,
                  std::uint32_t salt, std::vector<std::vector<float>>& results,
                  const std::string& transport = "loopback") {
  results.assign(static_cast<std::size_t>(ranks), {});
  const int contributors = ranks - servers_of(way);
  return with_way(
      ranks, way, named(codec), more, op,
      [&](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare(session, "weight", kElements);
        if (!id) return id.status().text();
        std::vector<float>& all = results[static_cast<std::size_t>(context.rank)];
        for (std::uint32_t number = 0; number < 3; ++number) {
          std::vector<float> values = held(context.rank, contributors, kElements, number, salt);
          if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
          all.insert(all.end(), values.begin(), values.end());
          const Result<StepResult> done = session.step();
          if (!done) return done.status().text();
          if (!done->finite) return "step " + std::to_string(number) + " is not finite";
        }
        return "";
      },
      transport);
}

/// The complaints of two ranks that declare "weight" under this plan; their gradient is a matrix.
std::string refusal(const std::string& plan, const std::string& head = "") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/plan.txtpb";
  std::ofstream(path) << "version: 1 " << head << " default { " << plan << " }\n";
  return with_sessions(
      2, [&](SessionOptions& options) { options.plan_file = path; },
      [](Session& session, RankContext&) {
        return session.declare({"weight", DType::kFloat32, {64, 100}, 0}).status().text();
      });
}

}  // namespace

TEST_CASE("session servers: the average, or the sum, of the other ranks with dedicated servers, whatever those hold") {
  for (const int ranks : {2, 3, 4, 8}) {
    for (const Way& way : dedicated_ways(ranks)) {
      for (const ReduceOp op : {ReduceOp::kAverage, ReduceOp::kSum}) {
        std::vector<std::vector<float>> results;
        INFO(way.strategy << ", ranks " << ranks);
        REQUIRE(train(ranks, way, "none", "partition_bytes: 4096", op, 0, results) == "");
        const int contributors = ranks - servers_of(way);
        std::vector<float> wanted;
        for (std::uint32_t step = 0; step < 3; ++step) {
          std::vector<float> one = average(contributors, kElements, step);
          if (op == ReduceOp::kSum) {
            for (float& value : one) value *= static_cast<float>(contributors);
          }
          wanted.insert(wanted.end(), one.begin(), one.end());
        }
        for (const std::vector<float>& one : results) CHECK(relative_error(one, wanted) < 1e-6);
      }
    }
  }
}

TEST_CASE("session servers: with every codec all ranks end alike with dedicated servers, whatever those hold") {
  for (const int ranks : {2, 3, 4}) {
    for (const Way& way : dedicated_ways(ranks)) {
      for (const std::string& codec : compll::codec_names()) {
        std::vector<std::vector<float>> one, other;
        INFO(codec << ", " << way.strategy << ", ranks " << ranks);
        REQUIRE(train(ranks, way, codec, "partitions: 3", ReduceOp::kAverage, 0, one) == "");
        REQUIRE(train(ranks, way, codec, "partitions: 3", ReduceOp::kAverage, 1, other) == "");
        for (const std::vector<float>& results : one) CHECK(results == one[0]);
        CHECK(other == one);
      }
    }
  }
}

TEST_CASE("session servers: over TCP the bytes are those of the loopback") {
  for (const int ranks : {2, 3, 4}) {
    for (const Way& way : dedicated_ways(ranks)) {
      for (const char* codec : {"none", "int4", "topk_coded"}) {
        std::vector<std::vector<float>> wanted, got;
        REQUIRE(train(ranks, way, codec, "partitions: 5", ReduceOp::kAverage, 0, wanted) == "");
        const std::string complaints = train(ranks, way, codec, "partitions: 5", ReduceOp::kAverage, 0, got, "ucx:tcp");
        if (lacks_ucx(complaints)) return;
        INFO(codec << ", " << way.strategy << ", ranks " << ranks);
        REQUIRE(complaints == "");
        CHECK(got == wanted);
      }
    }
  }
}

TEST_CASE("session servers: hundreds of small gradients on one server, and on two, dedicated or not") {
  constexpr int kRanks = 4, kGradients = 300;
  for (const char* strategy : {"ps servers: 1", "ps servers: 2", "ps servers: 1 dedicated: true"}) {
    const bool dedicated = std::string(strategy).ends_with("true");
    const int contributors = dedicated ? kRanks - 1 : kRanks;
    const std::string complaints = with_way(
        kRanks, {strategy, ""}, named("none"), "", ReduceOp::kAverage,
        [&](Session& session, RankContext& context) -> std::string {
          std::vector<GradientId> ids;
          for (int i = 0; i < kGradients; ++i) {
            const Result<GradientId> id = declare(session, "g" + std::to_string(i), 50 + static_cast<std::size_t>(i));
            if (!id) return id.status().text();
            ids.push_back(*id);
          }
          for (std::uint32_t step = 0; step < 3; ++step) {
            std::vector<std::vector<float>> values;
            std::vector<Submission> all;
            for (std::uint32_t i = 0; i < kGradients; ++i) {
              values.push_back(held(context.rank, contributors, 50 + i, 1000 * step + i, 0));
            }
            for (std::size_t i = 0; i < kGradients; ++i) all.push_back({ids[i], view_of(values[i])});
            if (auto handles = session.submit(all); !handles) return handles.status().text();
            if (const Result<StepResult> done = session.step(); !done) return done.status().text();
            for (std::uint32_t i = 0; i < kGradients; ++i) {
              const std::vector<float> wanted = average(contributors, 50 + i, 1000 * step + i);
              if (!(relative_error(values[i], wanted) <= 1e-6)) return "wrong average of g" + std::to_string(i);
            }
          }
          return "";
        });
    INFO(strategy);
    CHECK(complaints == "");
  }
}

TEST_CASE("session servers: a residual of other servers is refused, and says which") {
  SessionState saved[3];
  const auto one_step = [](Session& session, RankContext& context) {
    const Result<GradientId> id = declare(session, "weight", 500);
    if (!id) return id.status().text();
    std::vector<float> values = contribution(context.rank, 500, 1);
    return step(session, *id, values);
  };
  const auto save = [&](Session& session, RankContext& context) {
    std::string bad = one_step(session, context);
    saved[context.rank] = *session.state();
    return bad;
  };
  const auto load = [&](Session& session, RankContext& context) {
    if (std::string bad = one_step(session, context); !bad.empty()) return bad;
    const Status loaded = session.load_state(saved[context.rank]);
    return loaded.is_ok() ? std::string() : loaded.text();
  };
  const auto run = [](const std::string& strategy, const auto& body) {
    return with_way(3, {strategy, ""}, named("int4"), "partitions: 2", ReduceOp::kAverage, body);
  };
  REQUIRE(run("ps servers: 2", save) == "");
  CHECK(run("ps servers: 2", load) == "");
  CHECK_THAT(
      run("ps servers: 1", load),
      Catch::Contains("gradient weight: the state is of int4 / int4, ps, 2 partitions, 2 servers, here it is int4 "
                      "/ int4, ps, 2 partitions, 1 server"));
  REQUIRE(run("ps", save) == "");
  CHECK(run("ps servers: 3", load) == "");  // all ranks, as without
}

TEST_CASE("session servers: impossible servers are refused at the declaration, with the gradient's name") {
  CHECK_THAT(refusal("servers: 3"),
             Catch::Contains("rank 0: PlanError: gradient weight: 3 servers in a group of 2 ranks, expected 1 to 2") &&
                 Catch::Contains("rank 1: PlanError"));
  CHECK_THAT(refusal("servers: 2 dedicated: true"),
             Catch::Contains("gradient weight: 2 dedicated servers in a group of 2 ranks, expected 1 to 1"));
  CHECK_THAT(refusal("servers: 1 dedicated: true codec { name: \"powersgd\" }"),
             Catch::Contains("gradient weight: codec `powersgd` has exchanges of its own, between which every rank "
                             "computes: it has no dedicated servers; leave `dedicated` out for this gradient, or "
                             "give it another codec"));
  CHECK_THAT(refusal("servers: 1 dedicated: true", "gossip { neighbours: ring }"),
             Catch::Contains("gradient weight: gossip averages the parameters of all ranks, and dedicated servers have "
                             "none"));
}

TEST_CASE("session servers: ranks whose plans differ in their servers learn it when they open") {
  for (const auto& [other, text] :
       {std::pair("servers: 1", "1 server"), std::pair("servers: 2 dedicated: true", "2 dedicated servers")}) {
    TemporaryDirectory directory;
    std::ofstream(directory.path() + "/0") << "version: 1 default { servers: 2 }\n";
    std::ofstream(directory.path() + "/1") << "version: 1 default { " << other << " }\n";
    const std::string all = run_ranks(2, [&](RankContext& context) {
      context.options.plan_file = directory.path() + "/" + std::to_string(context.rank);
      return Session::open(context.options).status().text();
    });
    CHECK_THAT(all, Catch::Contains("plan: default servers: rank 0 has 2 servers, rank 1 has " + std::string(text)) &&
                        Catch::Contains("rank 0: InvalidArgument") && Catch::Contains("rank 1: InvalidArgument"));
  }
}
