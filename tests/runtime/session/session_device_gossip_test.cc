// SPDX-License-Identifier: Apache-2.0
//
// Gossip on a GPU: the parameters, the copies and what steps say are those of sessions on the host.
#include <catch2/catch.hpp>
#include <functional>
#include <limits>

#include "tests/runtime/session/device_cases.h"
#include "tests/runtime/session/plan_file.h"

using namespace casync;                // NOLINT(google-build-using-namespace)
using namespace casync::test;          // NOLINT(google-build-using-namespace)
using namespace casync::test::device;  // NOLINT(google-build-using-namespace)

namespace {

constexpr std::uint32_t kConsensus = 2;  // the step of all ranks
constexpr std::uint32_t kGossipEnd = 5;

struct GossipRun {
  int ranks = 1;
  std::string plan;
  std::string transport = "loopback";
  DType dtype = DType::kFloat32;
  Values values = gaussians;
};

std::string name_of(const GossipRun& run) { return run.plan + ", " + std::to_string(run.ranks) + " ranks"; }

/// Steps `from` to `to` of each rank, whose parameters move by themselves between exchanges.
std::string gossip(const GossipRun& run, bool on_device, AllSeen& seen, std::uint32_t from = 0,
                   std::uint32_t to = kGossipEnd, std::vector<SessionState>* states = nullptr) {
  const PlanFile plan("seed: 5 " + run.plan);
  seen.resize(static_cast<std::size_t>(run.ranks));
  return with_sessions(
      run.ranks, on_gpu_by(plan, on_device),
      [&](Session& session, RankContext& context) -> std::string {
        const auto rank = static_cast<std::size_t>(context.rank);
        Gradients gradients(session, on_device, run.dtype);
        if (from > 0) {
          if (Status status = session.load_state((*states)[rank]); !status) return status.text();
        }
        if (Status status = gradients.declare_all(); !status) return status.text();
        for (std::uint32_t step = from; step < to; ++step) {
          if (step == kConsensus) {
            if (Status status = session.begin_consensus(); !status) return status.text();
          }
          if (session.exchanged() == Exchanged::kNothing) {
            if (const auto done = session.step(); !done) return done.status().text();
            continue;
          }
          std::vector<std::vector<float>> all = run.values(context.rank, step);
          const Result<StepResult> done = gradients.step(all);
          if (!done) return done.status().text();
          seen[rank].steps.push_back(std::to_string(done->finite) + done->first_non_finite);
          for (auto& one : all) seen[rank].gradients.push_back(std::move(one));
        }
        Result<SessionState> state = session.state();
        if (!state) return state.status().text();
        for (const auto& [name, one] : state->gradients) seen[rank].states[name] = one.residual;
        if (states != nullptr) (*states)[rank] = std::move(*state);
        return "";
      },
      run.transport);
}

/// "", or how the GPU's bytes differ from the host's.
std::string compare(const GossipRun& run) {
  return compare_both([&](bool on_device, AllSeen& seen) { return gossip(run, on_device, seen); });
}

constexpr const char* kNeighbours[] = {"neighbours: ring", "neighbours: pairs"};

std::string gossip_plan(const std::string& gossip, const std::string& codec = "none") {
  return "gossip { " + gossip + " } " + device::plan_of(codec, "ps");
}

}  // namespace

TEST_CASE("gossip on a GPU: the parameters are the host's, on a ring and in pairs, and after a consensus") {
  for (const char* neighbours : kNeighbours) {
    for (const int ranks : {1, 2, 3, 5}) {
      const GossipRun run{ranks, gossip_plan(neighbours)};
      INFO(name_of(run));
      CHECK(compare(run) == "");
    }
    for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
      const GossipRun run{4, gossip_plan(neighbours), "loopback", dtype, awkward_for_halves};
      INFO(name_of(run));
      CHECK(compare(run) == "");
    }
  }
}

TEST_CASE("gossip on a GPU: gradients until from_step, and rounds of several steps") {
  for (const char* neighbours : kNeighbours) {
    const GossipRun run{4, gossip_plan(std::string(neighbours) + " every: 2 from_step: 1")};
    INFO(name_of(run));
    CHECK(compare(run) == "");
  }
}

TEST_CASE("gossip on a GPU: over TCP the bytes are those of the host in one process") {
  for (const char* neighbours : kNeighbours) {
    GossipRun run{4, gossip_plan(neighbours)};
    check_over_tcp([&](const char* transport, bool on_device, AllSeen& seen) {
      run.transport = transport;
      return gossip(run, on_device, seen);
    });
  }
}

TEST_CASE("gossip on a GPU: elements that are not finite are told to the ranks that the host tells") {
  GossipRun run{5, gossip_plan("neighbours: ring")};
  run.values = [](int rank, std::uint32_t step) {
    std::vector<std::vector<float>> all = gaussians(rank, step);
    if (rank == 1 && step == 1) all[1][5] = std::numeric_limits<float>::infinity();
    return all;
  };
  AllSeen host, device;
  CHECK(gossip(run, false, host) == "");
  CHECK(gossip(run, true, device) == "");
  for (std::size_t rank = 0; rank < 5; ++rank) {
    CHECK(host[rank].steps == device[rank].steps);
    CHECK(device[rank].steps[1] == (rank < 3 ? "0g1" : "1"));
  }
}

TEST_CASE("gossip of differences on a GPU: parameters and copies are the host's, of 1 to 5 ranks") {
  for (const char* codec : {"int8", "onebit", "topk", "qsgd", "fp16", "lossless"}) {
    const GossipRun run{3, gossip_plan("neighbours: ring", codec)};
    INFO(name_of(run));
    CHECK(compare(run) == "");
  }
  for (const int ranks : {1, 2, 5}) {
    const GossipRun run{ranks, gossip_plan("neighbours: ring gamma: 0.3", "int4")};
    INFO(name_of(run));
    CHECK(compare(run) == "");
  }
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    const GossipRun run{3, gossip_plan("neighbours: ring", "int8"), "loopback", dtype, awkward_for_halves};
    INFO(name_of(run));
    CHECK(compare(run) == "");
  }
  for (const DType dtype : {DType::kFloat32, DType::kFloat16}) {
    const GossipRun run{4, gossip_plan("neighbours: ring every: 2 from_step: 1", "int8"), "loopback", dtype};
    INFO(name_of(run));
    CHECK(compare(run) == "");
  }
}

TEST_CASE("gossip of differences on a GPU: elements that are not finite change copies and steps as on the host") {
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), 7e4f}) {  // fp16 makes the second one infinite
    GossipRun run{5, gossip_plan("neighbours: ring", "fp16")};
    run.values = [value](int rank, std::uint32_t step) {
      std::vector<std::vector<float>> all = gaussians(rank, step);
      if (rank == 1 && step == 1) all[1][5] = value;
      return all;
    };
    AllSeen host, device;
    CHECK(gossip(run, false, host) == "");
    CHECK(gossip(run, true, device) == "");
    CHECK(device[1].steps[1] == "0g1");
    CHECK(device[2].steps[1] == (value == 7e4f ? "0g1" : "1"));
    for (std::size_t rank = 0; rank < 5; ++rank) {
      CHECK(host[rank].steps == device[rank].steps);
      CHECK(host[rank].states == device[rank].states);
      if (rank != 1 || value == 7e4f) CHECK(host[rank].gradients == device[rank].gradients);
    }
  }
}

TEST_CASE("gossip on a GPU: a training that is saved goes on, on the host too") {
  for (const auto& [neighbours, codec] :
       {std::pair{"neighbours: ring", "none"}, {"neighbours: pairs", "none"}, {"neighbours: ring", "int8"}}) {
    const GossipRun run{3, gossip_plan(neighbours, codec)};
    INFO(name_of(run));
    std::vector<SessionState> states(3);
    AllSeen through, first, on_gpu_again, on_host;
    REQUIRE(gossip(run, true, through) == "");
    REQUIRE(gossip(run, true, first, 0, 3, &states) == "");
    std::vector<SessionState> same = states;
    REQUIRE(gossip(run, true, on_gpu_again, 3, kGossipEnd, &states) == "");
    REQUIRE(gossip(run, false, on_host, 3, kGossipEnd, &same) == "");
    CHECK(difference(on_host, on_gpu_again) == "");
    for (std::size_t rank = 0; rank < 3; ++rank) {
      CHECK(on_host[rank].states == through[rank].states);
      CHECK(same_floats(on_host[rank].gradients.back(), through[rank].gradients.back()));
    }
  }
}
