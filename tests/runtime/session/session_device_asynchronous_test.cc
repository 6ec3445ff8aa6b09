// SPDX-License-Identifier: Apache-2.0
//
// Asynchronous steps on a GPU: results, states and what steps say are those of sessions on the host, where ranks have
// an order there.
#include <barrier>
#include <catch2/catch.hpp>
#include <limits>

#include "tests/runtime/session/device_cases.h"
#include "tests/runtime/session/plan_file.h"

using namespace casync;                // NOLINT(google-build-using-namespace)
using namespace casync::test;          // NOLINT(google-build-using-namespace)
using namespace casync::test::device;  // NOLINT(google-build-using-namespace)

namespace {

// The last step of each half is a consensus, after which there is a state.
constexpr std::uint32_t kHalf = 3, kEnd = 6;

struct AsynchronousRun {
  int ranks = 1;
  std::string plan;
  Values values = gaussians;
  DType dtype = DType::kFloat32;
  std::string transport = "loopback";
  bool in_turn = false;  ///< one rank after the other steps, but for the first step, of zeros, and the consensus
  std::uint32_t half = kHalf;
};

std::string name_of(const AsynchronousRun& run) { return run.plan + ", " + std::to_string(run.ranks) + " ranks"; }

std::string asynchronous(const AsynchronousRun& run, bool on_device, AllSeen& seen, std::uint32_t from = 0,
                         std::uint32_t to = kEnd, std::vector<SessionState>* states = nullptr) {
  const PlanFile plan("seed: 5 " + run.plan);
  seen.resize(static_cast<std::size_t>(run.ranks));
  std::barrier turn(run.ranks);
  const auto by_plan = on_gpu_by(plan, on_device);
  const auto body = [&](Session& session, RankContext& context) -> std::string {
    const auto rank = static_cast<std::size_t>(context.rank);
    Gradients gradients(session, on_device, run.dtype);
    if (from > 0) {
      if (Status status = session.load_state((*states)[rank]); !status) return status.text();
    }
    std::vector<std::size_t> sizes;
    for (const std::vector<float>& one : run.values(context.rank, 0)) sizes.push_back(one.size());
    if (Status status = gradients.declare_all(sizes); !status) return status.text();
    std::string bad;
    for (std::uint32_t step = from; step < to; ++step) {
      const bool together = step % run.half == run.half - 1, first = step == 0;
      if (together && bad.empty()) bad = session.begin_consensus().is_ok() ? "" : "no consensus";
      std::vector<std::vector<float>> all = run.values(context.rank, step);
      if (run.in_turn && first) {
        for (std::vector<float>& one : all) std::fill(one.begin(), one.end(), 0.0f);
      }
      const bool waits = run.in_turn && !together && !first;
      for (int other = 0; waits && other < context.rank; ++other) turn.arrive_and_wait();
      if (bad.empty()) {
        const Result<StepResult> done = gradients.step(all);
        if (!done) bad = done.status().text();
        if (done) seen[rank].steps.push_back(std::to_string(done->finite) + done->first_non_finite);
      }
      for (int other = context.rank; waits && other < run.ranks; ++other) turn.arrive_and_wait();
      if (run.in_turn) turn.arrive_and_wait();
      for (auto& one : all) seen[rank].gradients.push_back(std::move(one));
    }
    if (!bad.empty()) return bad;
    Result<SessionState> state = session.state();
    if (!state) return state.status().text();
    for (const auto& [name, one] : state->gradients) seen[rank].states[name] = one.residual;
    if (states != nullptr) (*states)[rank] = std::move(*state);
    return "";
  };
  return with_sessions(run.ranks, by_plan, body, run.transport);
}

/// "", or how the GPU's bytes differ from the host's.
std::string compare(const AsynchronousRun& run) {
  return compare_both([&](bool on_device, AllSeen& seen) { return asynchronous(run, on_device, seen); });
}

std::string by_rule(const std::string& codecs, const std::string& rule = "bound: 0") {
  return "asynchronous { " + rule + " } default { partitions: 3 " + codecs + " }";
}

std::string named(const std::string& codec) { return "codec { name: \"" + codec + "\" } "; }

/// One element of rank 1 is not what it should be, in step 1.
Values with(float value, const Values& others = gaussians) {
  return [value, others](int rank, std::uint32_t step) {
    std::vector<std::vector<float>> all = others(rank, step);
    if (rank == 1 && step == 1) all[0][1] = value;
    return all;
  };
}

}  // namespace

TEST_CASE("asynchronous on a GPU: with bound 0 the bytes and the states are the host's, with every kind of codec") {
  for (const char* codec : {"none", "int8", "onebit", "topk", "fp16", "randomk", "lossless", "topk_coded"}) {
    const AsynchronousRun run{3, by_rule(named(codec))};
    INFO(name_of(run));
    CHECK(compare(run) == "");
  }
  for (const int ranks : {1, 2, 5}) {
    const AsynchronousRun run{ranks, by_rule(named("onebit"))};
    INFO(name_of(run));
    CHECK(compare(run) == "");
  }
  for (const auto& [first, second] : {std::pair{"none", "topk"}, {"onebit", "none"}, {"topk_coded", "int8"}}) {
    const AsynchronousRun run{3, by_rule(named(first) + "second_hop { name: \"" + second + "\" }")};
    INFO(name_of(run));
    CHECK(compare(run) == "");
  }
}

TEST_CASE("asynchronous on a GPU: half precision, and residuals in one buffer or as bfloat16") {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    for (const char* codec : {"none", "int4"}) {
      const AsynchronousRun run{3, by_rule(named(codec)), awkward_for_halves, dtype};
      INFO(name_of(run));
      CHECK(compare(run) == "");
    }
  }
  for (const char* memory : {"one_buffer", "bfloat16"}) {
    for (const Values& values :
         {Values(large_gaussians), with(std::numeric_limits<float>::infinity(), large_gaussians)}) {
      const AsynchronousRun run{2, by_rule(named("int4") + "residual_memory: " + memory), values};
      INFO(name_of(run));
      CHECK(compare(run) == "");
    }
  }
}

TEST_CASE(
    "asynchronous on a GPU: contributions that are not finite are left out as on the host, and nothing else is lost") {
  for (const char* codecs : {"codec { name: \"none\" }", "codec { name: \"onebit\" }",
                             "codec { name: \"topk\" } second_hop { name: \"none\" }", "codec { name: \"fp16\" }"}) {
    for (const float value : {std::numeric_limits<float>::quiet_NaN(), 7e4f}) {  // fp16 makes the second one infinite
      const AsynchronousRun run{3, by_rule(codecs), with(value)};
      INFO(name_of(run));
      AllSeen host, device;
      CHECK(asynchronous(run, false, host) == "");
      CHECK(asynchronous(run, true, device) == "");
      CHECK(difference(host, device) == "");
      const bool finite = value == 7e4f && std::string(codecs).find("fp16") == std::string::npos;
      CHECK(device[0].steps[1] == (finite ? "1" : "0g0"));
    }
  }
}

TEST_CASE("asynchronous on a GPU: without a bound, one rank after the other, the bytes are the host's") {
  for (const char* rule : {"", "bound: 1"}) {
    for (const char* codec : {"none", "onebit", "topk"}) {
      for (const int ranks : {2, 4}) {
        AsynchronousRun run{ranks, by_rule(named(codec), rule)};
        run.in_turn = true;
        run.half = kEnd;  // what residuals give a step of zeros comes in any order
        INFO(name_of(run));
        CHECK(compare(run) == "");
      }
    }
  }
}

TEST_CASE("asynchronous on a GPU: over TCP the bytes are those of the host in one process") {
  AsynchronousRun run{3, by_rule(named("int8"))};
  check_over_tcp([&](const char* transport, bool on_device, AllSeen& seen) {
    run.transport = transport;
    return asynchronous(run, on_device, seen);
  });
}

TEST_CASE("asynchronous on a GPU: a state of a GPU goes on there and on the host, and the host's on a GPU") {
  const AsynchronousRun run{3, by_rule(named("onebit"))};
  AllSeen through;
  REQUIRE(asynchronous(run, false, through) == "");
  for (const bool saved_on_device : {false, true}) {
    std::vector<SessionState> states(3);
    AllSeen first;
    REQUIRE(asynchronous(run, saved_on_device, first, 0, kHalf, &states) == "");
    for (const bool on_device : {false, true}) {
      std::vector<SessionState> loaded = states;
      AllSeen second;
      REQUIRE(asynchronous(run, on_device, second, kHalf, kEnd, &loaded) == "");
      for (std::size_t rank = 0; rank < 3; ++rank) {
        CHECK(second[rank].states == through[rank].states);
        const std::vector<std::vector<float>>& all = through[rank].gradients;
        for (std::size_t i = 0; i < second[rank].gradients.size(); ++i) {
          CHECK(same_floats(second[rank].gradients[i], all[all.size() - second[rank].gradients.size() + i]));
        }
      }
    }
  }
}

TEST_CASE("asynchronous on a GPU: dedicated servers answer with steps of their own and without") {
  for (const char* codec : {"none", "onebit"}) {
    const std::string servers =
        std::string("asynchronous { bound: 0 } default { partitions: 2 servers: 1 dedicated: ") +
        "true codec { name: \"" + codec + "\" } }";
    for (const bool steps_too : {false, true}) {
      INFO(servers << ", with steps: " << steps_too);
      AllSeen seen[2];
      for (const bool on_device : {false, true}) {
        AllSeen& all = seen[on_device ? 1 : 0];
        all.assign(2, {});  // a server's own results may have more than its step
        const PlanFile plan(servers);
        const std::string complaints =
            with_sessions(3, on_gpu_by(plan, on_device), [&](Session& session, RankContext& context) -> std::string {
              Gradients gradients(session, on_device);
              if (Status status = gradients.declare_all(); !status) return status.text();
              const bool serves = context.rank == 2;
              for (std::uint32_t step = 0; step < 4 && (steps_too || !serves); ++step) {
                std::vector<std::vector<float>> values = gaussians(context.rank, step);
                const auto done = gradients.step(values);
                if (!done) return done.status().text();
                if (serves) continue;
                Seen& here = all[static_cast<std::size_t>(context.rank)];
                here.steps.push_back(std::to_string(done->finite));
                for (auto& one : values) here.gradients.push_back(std::move(one));
              }
              return "";
            });
        CHECK(complaints == "");
      }
      CHECK(seen[0][0].gradients.size() == 4 * std::size(kSizes));
      CHECK(difference(seen[0], seen[1]) == "");
    }
  }
}
