// SPDX-License-Identifier: Apache-2.0
//
// Declarations and submissions in different orders on different ranks.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "runtime/session/session.h"
#include "tests/runtime/session/gradients.h"
#include "tests/support/ranks.h"

using namespace casync;        // NOLINT(google-build-using-namespace)
using namespace casync::test;  // NOLINT(google-build-using-namespace)

namespace {

constexpr std::size_t kElements = 300;

/// One rank of a test: declares and submits by name, and checks averages.
class OneRank {
 public:
  OneRank(Session& session, int rank, int ranks) : session_(session), rank_(rank), ranks_(ranks) {}

  std::string declare(const std::string& name) {
    const Result<GradientId> id = test::declare(session_, name, kElements);
    if (!id) return id.status().text();
    ids_[name] = *id;
    return "";
  }

  std::string submit(const std::string& name) {
    values_[name] = contribution(rank_, kElements, salt(name));
    const Submission one{ids_.at(name), view_of(values_[name])};
    const auto handles = session_.submit({&one, 1});
    if (!handles) return handles.status().text();
    handles_[name] = (*handles)[0];
    return "";
  }

  /// Waits for every gradient of the step and ends it.
  std::string step() {
    for (const auto& [name, handle] : handles_) {
      if (Status status = session_.wait(handle, -1); !status) return status.text();
      if (values_[name] != average(ranks_, kElements, salt(name))) return "wrong average of " + name;
    }
    handles_.clear();
    const Result<StepResult> done = session_.step();
    ++step_;
    return done ? "" : done.status().text();
  }

 private:
  std::uint32_t salt(const std::string& name) const { return 100 * step_ + static_cast<std::uint32_t>(name.back()); }

  Session& session_;
  int rank_, ranks_;
  std::uint32_t step_ = 0;
  std::map<std::string, GradientId> ids_;
  std::map<std::string, Handle> handles_;
  std::map<std::string, std::vector<float>> values_;
};

/// "declare a", "submit b".
std::string perform(OneRank& rank, const std::string& act) {
  const std::string name = act.substr(act.find(' ') + 1);
  return act[0] == 'd' ? rank.declare(name) : rank.submit(name);
}

/// All orders of declaring and submitting two gradients in which each is declared ahead of its submission.
std::vector<std::vector<std::string>> orders() {
  std::vector<std::string> acts = {"declare a", "declare b", "submit a", "submit b"};
  std::vector<std::vector<std::string>> all;
  const auto at = [&](const char* act) { return std::find(acts.begin(), acts.end(), act); };
  do {
    if (at("declare a") < at("submit a") && at("declare b") < at("submit b")) all.push_back(acts);
  } while (std::next_permutation(acts.begin(), acts.end()));
  return all;
}

std::string text_of(const std::vector<std::string>& acts) {
  std::string text;
  for (const std::string& act : acts) text += act + ", ";
  return text;
}

}  // namespace

TEST_CASE("session declare: two gradients in every order on each of two ranks") {
  const auto all = orders();
  REQUIRE(all.size() == 6);
  for (const auto& first : all) {
    for (const auto& second : all) {
      const std::string complaints = with_sessions(2, codec("none"), [&](Session& session, RankContext& context) {
        OneRank rank(session, context.rank, 2);
        for (const std::string& act : context.rank == 0 ? first : second) {
          if (std::string bad = perform(rank, act); !bad.empty()) return act + ": " + bad;
        }
        if (std::string bad = rank.step(); !bad.empty()) return bad;
        for (const std::string act : {"submit b", "submit a"}) {
          if (std::string bad = perform(rank, act); !bad.empty()) return act + ": " + bad;
        }
        return rank.step();
      });
      INFO("rank 0: " << text_of(first) << " rank 1: " << text_of(second));
      CHECK(complaints == "");
    }
  }
}

TEST_CASE("session declare: gradients that come later, after steps, in other orders on each rank") {
  const int ranks = GENERATE(2, 3);
  const std::string complaints = with_sessions(ranks, codec("none"), [&](Session& session, RankContext& context) {
    OneRank rank(session, context.rank, ranks);
    std::vector<std::string> names;
    std::string bad;
    for (int step = 0; step < 4 && bad.empty(); ++step) {
      std::vector<std::string> acts;
      for (const std::string& name : names) acts.push_back("submit " + name);
      for (const char letter : {'a', 'b'}) {
        names.push_back("late" + std::to_string(step) + letter);
        // Rank 1 declares ahead of the others, which have their first submission between.
        acts.insert(context.rank == 1 ? acts.begin() : acts.end(), "declare " + names.back());
      }
      for (std::size_t i = names.size() - 2; i < names.size(); ++i) acts.push_back("submit " + names[i]);
      if (context.rank == 0) std::swap(acts[acts.size() - 1], acts[acts.size() - 2]);
      for (const std::string& act : acts) {
        if (bad.empty()) bad = perform(rank, act);
      }
      if (bad.empty()) bad = rank.step();
    }
    return bad;
  });
  CHECK(complaints == "");
}

TEST_CASE("session declare: a gradient that one rank declares and nobody submits harms nobody") {
  const std::string complaints = with_sessions(2, codec("none"), [&](Session& session, RankContext& context) {
    OneRank rank(session, context.rank, 2);
    std::string bad = rank.declare("a");
    if (bad.empty() && context.rank == 0) bad = rank.declare("mine");
    for (int step = 0; step < 2 && bad.empty(); ++step) {
      bad = rank.submit("a");
      if (bad.empty()) bad = rank.step();
    }
    return bad;
  });
  CHECK(complaints == "");
}

TEST_CASE(
    "session declare: a rank that ends the step without a gradient others submitted is named, long ahead of "
    "the timeout") {
  const std::string all = run_ranks(3, [&](RankContext& context) -> std::string {
    context.options.timeout_s = 300;
    Result<std::unique_ptr<Session>> session = Session::open(context.options);
    if (!session) return session.status().text();
    OneRank rank(**session, context.rank, 3);
    std::string bad = rank.declare("a");
    if (bad.empty() && context.rank != 1) bad = rank.declare("b");
    if (bad.empty()) bad = rank.submit("a");
    if (bad.empty() && context.rank != 1) bad = rank.submit("b");
    if (bad.empty()) bad = (*session)->step().status().text();
    return bad == "OK" ? (*session)->step().status().text() : bad;
  });
  CHECK_THAT(all, Catch::Contains("rank 0: InvalidArgument") && Catch::Contains("rank 2: InvalidArgument") &&
                      Catch::Contains("gradient b: rank") && Catch::Contains("rank 1 has nothing"));
}

TEST_CASE("session declare: waiting for a gradient that one rank does not declare ends by the timeout, and names it") {
  const std::string all = run_ranks(2, [&](RankContext& context) -> std::string {
    context.options.timeout_s = 2;
    Result<std::unique_ptr<Session>> session = Session::open(context.options);
    if (!session) return session.status().text();
    OneRank rank(**session, context.rank, 2);
    const std::string name = context.rank == 0 ? "a" : "b";
    if (std::string bad = rank.declare(name); !bad.empty()) return bad;
    if (std::string bad = rank.submit(name); !bad.empty()) return bad;
    return rank.step();
  });
  CHECK_THAT(all, Catch::Contains("rank 0: Timeout") && Catch::Contains("rank 1: Timeout") &&
                      (Catch::Contains("\"gradient a\": rank 1 did not come") ||
                       Catch::Contains("\"gradient b\": rank 0 did not come")));
}
