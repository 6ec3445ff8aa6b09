// SPDX-License-Identifier: Apache-2.0
//
// Asynchronous steps: what ranks have been told, against sums computed here in double precision, and for whom they
// waited, by the order of events.
#include <catch2/catch.hpp>

#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

#include "tests/runtime/session/asynchronous_cases.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)

namespace {

/// Steps of one gradient, at each rank's own pace. told[rank] is the sum of the results.
struct Told {
  std::vector<Doubles> told;
  std::vector<SessionState> states;
  Told(int ranks, std::size_t elements)
      : told(static_cast<std::size_t>(ranks), Doubles(elements)), states(static_cast<std::size_t>(ranks)) {}
};

/// The scaled sum of all gradients.
Doubles all_of(int ranks, std::size_t elements, std::uint32_t steps) {
  Doubles sum(elements);
  for (int rank = 0; rank < ranks; ++rank) {
    for (std::uint32_t i = 0; i < steps; ++i) add(contribution(rank, elements, i), 1.0 / ranks, sum);
  }
  return sum;
}

/// Naps between steps; then, once all ranks have done theirs, a step of zeros, which tells each rank what is left.
Body napping(Told& seen, Steps& order, std::size_t elements, std::uint32_t steps) {
  return [&seen, &order, elements, steps](Session& session, RankContext& context) -> std::string {
    Doubles& told = seen.told[static_cast<std::size_t>(context.rank)];
    std::mt19937 random(static_cast<unsigned>(context.rank) + 7);
    const Result<GradientId> id = declare(session, "weight", elements);
    if (!id) return id.status().text();
    for (std::uint32_t i = 0; i < steps; ++i) {
      Floats values = contribution(context.rank, elements, i);
      nap(random, context.rank == 1 ? 3000 : 300);
      if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
      add(values, 1, told);
      order.ends(context.rank, static_cast<int>(i));
    }
    if (!order.wait_for_all(static_cast<int>(steps) - 1)) return "others do not end their steps";
    Floats zeros(elements);
    if (std::string bad = step(session, *id, zeros); !bad.empty()) return bad;
    add(zeros, 1, told);
    return "";
  };
}

/// Like napping(), and at the end a consensus and the state after it.
Body saving(Told& seen, std::size_t elements, std::uint32_t steps) {
  return [&seen, elements, steps](Session& session, RankContext& context) -> std::string {
    const auto rank = static_cast<std::size_t>(context.rank);
    std::mt19937 random(static_cast<unsigned>(context.rank) + 7);
    const Result<GradientId> id = declare(session, "weight", elements);
    if (!id) return id.status().text();
    for (std::uint32_t i = 0; i < steps; ++i) {
      Floats values = contribution(context.rank, elements, i);
      nap(random, 500);
      if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
      add(values, 1, seen.told[rank]);
    }
    Floats parameters(elements, static_cast<float>(context.rank));
    if (const Status begun = session.begin_consensus(); !begun) return begun.text();
    if (std::string bad = step(session, *id, parameters); !bad.empty()) return bad;
    if (parameters != Floats(elements, static_cast<float>(context.ranks - 1) / 2)) return "no mean of parameters";
    Result<SessionState> state = session.state();
    if (!state) return state.status().text();
    seen.states[rank] = std::move(*state);
    return "";
  };
}

/// The sums in the states: scaled, the mean of what ranks have not been told, and what contributions left behind.
Doubles untold(const std::vector<SessionState>& states, std::size_t elements, bool first_residuals,
               bool second_residuals) {
  Doubles sum(elements);
  const double scale = 1.0 / static_cast<double>(states.size());
  for (const SessionState& state : states) {
    const GradientState& one = state.gradients.at("weight");
    const std::size_t kept = first_residuals || second_residuals ? elements : 0;
    const float* at = one.residual.data() + kept;
    std::vector<bool> is_owned(elements);
    for (const GradientState::Range& range : one.owned) {
      for (Elements i = 0; i < range.count; ++i) {
        sum[range.first + i] += scale * at[i] + (second_residuals ? at[range.count + i] : 0);
        is_owned[range.first + i] = true;
      }
      at += range.count * (second_residuals ? 2 : 1);
    }
    REQUIRE(at == one.residual.data() + one.residual.size());
    for (std::size_t i = 0; first_residuals && i < elements; ++i) {
      if (!is_owned[i]) sum[i] += scale * one.residual[i];
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("asynchronous: each rank is told all contributions of all ranks, at its own pace") {
  for (const int ranks : {1, 2, 3, 5}) {
    for (const std::size_t elements : {std::size_t{1}, std::size_t{7}, std::size_t{20011}}) {
      for (const char* rule : {"", "bound: 0", "bound: 2", "first: 1", "bound: 3 first: 1"}) {
        INFO(ranks << " ranks, " << elements << " elements, " << rule);
        Told seen(ranks, elements);
        Steps order(ranks);
        const std::string plan = std::string("asynchronous { ") + rule + " } default { partitions: 3 }";
        REQUIRE(with_plan(ranks, plan, napping(seen, order, elements, 6)) == "");
        const Doubles all = all_of(ranks, elements, 6);
        for (const Doubles& told : seen.told) CHECK(largest_difference(told, all) < 1e-5);
      }
    }
  }
}

TEST_CASE("asynchronous: answers, leftovers and untold sums are together all gradients") {
  struct Case {
    const char* text;
    bool first, second;  // keeps a residual
  };
  for (const auto& [codec, first, second] :
       {Case{R"(codec { name: "none" })", false, false}, Case{R"(codec { name: "onebit" })", true, true},
        Case{R"(codec { name: "topk" param { key: "ratio" value: 0.1 } })", true, true},
        Case{R"(codec { name: "onebit" } second_hop { name: "none" })", true, false},
        Case{R"(codec { name: "none" } second_hop { name: "topk" param { key: "ratio" value: 0.1 } })", false, true}}) {
    for (const int ranks : {1, 2, 4}) {
      INFO(ranks << " ranks, " << codec);
      constexpr std::size_t kElements = 3001;
      Told seen(ranks, kElements);
      const std::string plan = std::string("asynchronous { } default { partitions: 3 ") + codec + " }";
      REQUIRE(with_plan(ranks, plan, saving(seen, kElements, 8)) == "");
      Doubles sum = untold(seen.states, kElements, first, second);
      for (const Doubles& told : seen.told) {
        for (std::size_t i = 0; i < kElements; ++i) sum[i] += told[i] / ranks;
      }
      CHECK(largest_difference(sum, all_of(ranks, kElements, 8)) < 1e-4);
    }
  }
}

TEST_CASE("asynchronous: with bound 0 all ranks get the bytes that ps makes") {
  constexpr std::size_t kElements = 5000;
  constexpr std::uint32_t kSteps = 4;
  for (const char* codec : {"none", "int8", "onebit", "topk", "fp16", "int4", "randomk"}) {
    for (const int ranks : {1, 2, 3, 5}) {
      INFO(ranks << " ranks, " << codec);
      std::vector<std::vector<Floats>> got[2];
      for (const bool asynchronous : {false, true}) {
        auto& results = got[asynchronous ? 1 : 0];
        results.assign(static_cast<std::size_t>(ranks), {});
        const std::string plan = std::string(asynchronous ? "asynchronous { bound: 0 } " : "") +
                                 "seed: 3 default { partitions: 3 codec { name: \"" + codec + "\" } }";
        const std::string complaints =
            with_plan(ranks, plan, [&](Session& session, RankContext& context) -> std::string {
              const Result<GradientId> id = declare(session, "weight", kElements);
              if (!id) return id.status().text();
              for (std::uint32_t i = 0; i < kSteps; ++i) {
                Floats values = contribution(context.rank, kElements, i);
                if (i == 1) std::fill_n(values.begin(), 10, -0.0f);
                if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
                results[static_cast<std::size_t>(context.rank)].push_back(values);
              }
              return "";
            });
        REQUIRE(complaints == "");
      }
      for (std::size_t rank = 0; rank < got[0].size(); ++rank) {
        for (std::uint32_t i = 0; i < kSteps; ++i) {
          INFO("rank " << rank << ", step " << i);
          CHECK(same_bytes(got[0][rank][i], got[1][rank][i]));
          CHECK(same_bytes(got[1][0][i], got[1][rank][i]));
        }
      }
    }
  }
}

TEST_CASE("asynchronous: no rank is answered until the bound and the first ranks allow it") {
  for (const auto& [bound, first] : {std::pair(0, 1), {1, 1}, {3, 1}, {3, 2}, {1000, 3}, {2, 4}}) {
    INFO("bound " << bound << ", first " << first);
    constexpr int kRanks = 4;
    Steps order(kRanks);
    std::atomic<int> most = 0;
    const std::string plan =
        "asynchronous { bound: " + std::to_string(bound) + " first: " + std::to_string(first) + " }";
    const std::string complaints = with_plan(kRanks, plan, [&](Session& session, RankContext& context) -> std::string {
      std::mt19937 random(static_cast<unsigned>(100 * bound + context.rank));
      const Result<GradientId> id = declare(session, "weight", 100);
      for (int i = 0; i < 30; ++i) {
        nap(random, context.rank == 2 ? 2000 : 200);
        Floats values(100, 1.0f);
        order.submits(context.rank, i);
        if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
        if (order.slowest() < i - bound) return "step " + std::to_string(i) + " ended too early";
        if (order.there(i) < first) return "step " + std::to_string(i) + " had too few contributions";
        int ahead = i - order.slowest(), seen = most;
        while (seen < ahead && !most.compare_exchange_weak(seen, ahead)) {
        }
      }
      return "";
    });
    CHECK(complaints == "");
    CHECK(most <= bound);
  }
}

TEST_CASE("asynchronous: a rank that stands still delays the others by the bound, and not by less") {
  constexpr int kRanks = 3, kBound = 2;
  Steps order(kRanks);
  const std::string complaints = with_plan(
      kRanks, "asynchronous { bound: 2 first: 2 }", [&](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare(session, "weight", 1000);
        for (int i = 0; i < 8; ++i) {
          if (context.rank == 1 && i == 1) {
            for (const int other : {0, 2}) {
              if (!order.wait_for(other, kBound)) return "rank " + std::to_string(other) + " waits for this one";
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            for (const int other : {0, 2}) {
              if (order.ended(other) > kBound) return "rank " + std::to_string(other) + " is beyond the bound";
            }
          }
          Floats values = contribution(context.rank, 1000, static_cast<std::uint32_t>(i));
          if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
          order.ends(context.rank, i);
        }
        return "";
      });
  CHECK(complaints == "");
}

TEST_CASE("asynchronous: without a bound a rank that stands still delays nobody") {
  Steps order(3);
  const std::string complaints =
      with_plan(3, "asynchronous { first: 2 }", [&](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare(session, "weight", 1000);
        for (int i = 0; i < 20; ++i) {
          if (context.rank == 2 && i == 1 && !(order.wait_for(0, 19) && order.wait_for(1, 19))) return "they wait";
          Floats values = contribution(context.rank, 1000, static_cast<std::uint32_t>(i));
          if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
          order.ends(context.rank, i);
        }
        return "";
      });
  CHECK(complaints == "");
}

TEST_CASE("asynchronous: many gradients of all types and sizes, in partitions and groups, go at each rank's own pace") {
  const std::string plans[] = {
      R"(asynchronous { bound: 2 } default { codec { name: "int8" } partitions: 3 })",
      R"(asynchronous { } group { name: "small" gradient: ["g1", "g2"] } rule { match: "g0" codec { name: "topk" } })",
      R"(asynchronous { bound: 1 first: 2 } coordinated: true default { servers: 2 })",
      R"(asynchronous { } credit_bytes: 100000)"};
  for (const std::string& plan : plans) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
      INFO(plan << ", " << name_of(dtype));
      const std::string complaints = with_plan(3, plan, [&](Session& session, RankContext& context) -> std::string {
        std::mt19937 random(static_cast<unsigned>(context.rank));
        std::vector<GradientId> ids;
        std::vector<std::vector<std::byte>> memory;
        for (const std::size_t size : {std::size_t{100'000}, std::size_t{10}, std::size_t{1}, std::size_t{0}}) {
          const std::string name = "g" + std::to_string(ids.size());
          const Result<GradientId> id = session.declare({name, dtype, {static_cast<std::int64_t>(size)}, 0});
          if (!id) return id.status().text();
          ids.push_back(*id);
          memory.emplace_back(size * bytes_of(dtype));
        }
        for (int i = 0; i < 12; ++i) {
          nap(random, 1000);
          std::vector<Submission> all;
          for (std::size_t g = 0; g < ids.size(); ++g) all.push_back({ids[g], {memory[g].data(), memory[g].size()}});
          const Result<std::vector<Handle>> handles = session.submit(all);
          if (!handles) return handles.status().text();
          const Result<StepResult> done = session.step();
          if (!done) return done.status().text();
          if (!done->finite) return "not finite";
        }
        return "";
      });
      CHECK(complaints == "");
    }
  }
}

TEST_CASE("asynchronous: a contribution that is not finite is left out, and nothing else is lost") {
  constexpr std::size_t kElements = 3000;
  constexpr std::uint32_t kSteps = 6, kBad = 2;
  for (const char* codec : {"none", "topk"}) {
    INFO(codec);
    constexpr int kRanks = 3;
    std::vector<Doubles> told(kRanks, Doubles(kElements));
    std::vector<int> not_finite(kRanks);
    const std::string plan = std::string("asynchronous { bound: 0 } default { partitions: 3 codec { name: \"") + codec +
                             R"(" param { key: "ratio" value: 1 } } second_hop { name: "none" } })";
    const std::string used =
        std::string(codec) == "none" ? "asynchronous { bound: 0 } default { partitions: 3 }" : plan;
    const std::string complaints = with_plan(kRanks, used, [&](Session& session, RankContext& context) -> std::string {
      const auto rank = static_cast<std::size_t>(context.rank);
      const Result<GradientId> id = declare(session, "weight", kElements);
      if (!id) return id.status().text();
      for (std::uint32_t i = 0; i <= kSteps; ++i) {
        Floats values = i < kSteps ? contribution(context.rank, kElements, i) : Floats(kElements);
        // One element: its partition is left out, the others of the gradient are not.
        if (i == kBad && context.rank == 1) values[0] = std::numeric_limits<float>::quiet_NaN();
        if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
        const Result<StepResult> done = session.step();
        if (!done) return done.status().text();
        if (!done->finite && done->first_non_finite != "weight") return "not finite is " + done->first_non_finite;
        if (!done->finite) ++not_finite[rank];
        add(values, 1, told[rank]);
      }
      return "";
    });
    REQUIRE(complaints == "");
    Doubles all = all_of(kRanks, kElements, kSteps);
    const Floats bad = contribution(1, kElements, kBad);
    const std::size_t partition = kElements / 3;
    for (std::size_t i = 0; i < kElements; ++i) {
      if (i < partition) all[i] -= bad[i] / 3.0;
    }
    for (const int count : not_finite) CHECK(count == 1);
    for (const Doubles& one : told) CHECK(largest_difference(one, all) < 1e-5);
  }
}

TEST_CASE("asynchronous: gradient descent of ranks at different paces ends at the common minimum") {
  for (const char* rule : {"", "bound: 2", "bound: 4 first: 2"}) {
    for (const char* codec : {R"(name: "none")", R"(name: "topk" param { key: "ratio" value: 0.1 })"}) {
      INFO(rule << ", " << codec);
      constexpr int kRanks = 3;
      constexpr std::size_t kElements = 500;
      Floats minimum(kElements);
      for (int rank = 0; rank < kRanks; ++rank) {
        const Floats own = contribution(rank, kElements, 99);
        for (std::size_t i = 0; i < kElements; ++i) minimum[i] += own[i] / kRanks;
      }
      std::vector<double> errors(kRanks, 1);
      const std::string plan = std::string("asynchronous { ") + rule + " } default { codec { " + codec + " } }";
      const std::string complaints =
          with_plan(kRanks, plan, [&](Session& session, RankContext& context) -> std::string {
            std::mt19937 random(static_cast<unsigned>(context.rank));
            const Floats own = contribution(context.rank, kElements, 99);
            Floats x(kElements), gradient(kElements);
            const Result<GradientId> id = declare(session, "weight", kElements);
            if (!id) return id.status().text();
            for (int i = 0; i < 400; ++i) {
              const float rate = i < 200 ? 0.05f : 0.01f;
              nap(random, context.rank == 0 ? 100 : 300);
              for (std::size_t e = 0; e < kElements; ++e) gradient[e] = x[e] - own[e];
              if (std::string bad = step(session, *id, gradient); !bad.empty()) return bad;
              for (std::size_t e = 0; e < kElements; ++e) x[e] -= rate * gradient[e];
            }
            if (const Status begun = session.begin_consensus(); !begun) return begun.text();
            if (std::string bad = step(session, *id, x); !bad.empty()) return bad;
            errors[static_cast<std::size_t>(context.rank)] = relative_error(x, minimum);
            return "";
          });
      CHECK(complaints == "");
      // Without a bound the slow ranks' gradients are alone at the end.
      for (const double error : errors) CHECK(error < (std::string(rule).empty() ? 0.5 : 0.1));
    }
  }
}
