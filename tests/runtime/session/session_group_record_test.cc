// SPDX-License-Identifier: Apache-2.0
//
// Records of runs whose plan has groups of gradients.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "casync/planner/model_file.h"
#include "runtime/session/session.h"
#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/group_cases.h"
#include "tests/support/ranks.h"
#include "tests/support/temporary_directory.h"

using namespace casync;                // NOLINT(google-build-using-namespace)
using namespace casync::runtime;       // NOLINT(google-build-using-namespace)
using namespace casync::test;          // NOLINT(google-build-using-namespace)
using namespace casync::test::groups;  // NOLINT(google-build-using-namespace)

namespace {

void computes(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

/// Two ranks train "a", "b", "c" and "alone" for 5 steps. A step computes 20 ms ahead of each of "a", "c", "b" and
/// "alone" is submitted, needs "b" at once, and the others 20 ms later.
std::string train(const std::string& plan, const std::string& folder) {
  std::ofstream(folder + "/plan.txtpb") << "version: 1\n" << plan;
  return with_sessions(
      2,
      [&](SessionOptions& options) {
        options.plan_file = folder + "/plan.txtpb";
        options.record_directory = folder + "/record";
      },
      [&](Session& session, RankContext& context) -> std::string {
        const Result<std::vector<GradientId>> ids = declare_members(session);
        if (!ids) return ids.status().text();
        const Result<GradientId> id = declare(session, "alone", 50);
        if (!id) return id.status().text();
        for (unsigned step = 0; step < 5; ++step) {
          Members members{*ids, parts_of(whole(context.rank, step))};
          std::vector<float> values = contribution(context.rank, 50, step);
          for (const std::size_t i : {0, 2, 1}) {
            computes(20);
            if (const Status sent = members.submit(session, i); !sent) return sent.text();
          }
          computes(20);
          const Submission alone{*id, view_of(values)};
          Handle handle{};
          if (const Status sent = session.submit({&alone, 1}, {&handle, 1}); !sent) return sent.text();
          if (const Status status = session.wait(members.handles[1], -1); !status) return status.text();
          computes(20);
          for (const std::size_t i : {0, 2}) {
            if (const Status status = session.wait(members.handles[i], -1); !status) return status.text();
          }
          if (const Result<StepResult> done = session.step(); !done) return done.status().text();
        }
        return "";
      });
}

/// The header of a file of samples.
nlohmann::json samples_in(const std::string& folder) {
  std::ifstream file(folder + "/record/gradients.safetensors", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  REQUIRE(bytes.size() > 8);
  std::uint64_t size = 0;
  std::memcpy(&size, bytes.data(), sizeof size);
  return nlohmann::json::parse(bytes.substr(8, size));
}

}  // namespace

TEST_CASE("groups: a record has the members, with sizes, moments and samples of their own, and not the group") {
  TemporaryDirectory folder;
  REQUIRE(train(kGroup + "codec { name: \"int8\" } }\n", folder.path()) == "");
  const Result<Training> training = read_model_file(folder.path() + "/record/model.txtpb");
  REQUIRE(training.status().text() == "OK");
  std::map<std::string, TrainedGradient> recorded;
  for (const TrainedGradient& one : training->gradients) recorded[one.spec.name] = one;
  REQUIRE(recorded.size() == 4);
  for (std::size_t i = 0; i < kNames.size(); ++i) CHECK(recorded.at(kNames[i]).spec.elements() == kSizes[i]);
  CHECK(recorded.at("alone").spec.elements() == 50);
  CHECK(training->backward_s > 0.075);
  CHECK(training->forward_s > 0.015);
  const std::vector<std::string> in_order{"a", "c", "b", "alone"};
  for (std::size_t i = 1; i < in_order.size(); ++i) {
    CHECK(recorded.at(in_order[i]).ready_s - recorded.at(in_order[i - 1]).ready_s > 0.015);
  }
  for (const char* later : {"a", "c"}) CHECK(recorded.at(later).need_s - recorded.at("b").need_s > 0.015);

  const nlohmann::json samples = samples_in(folder.path());
  CHECK(samples.size() == 5);
  CHECK(samples["__metadata__"]["a"] == "step 3, 1000 of 1000 elements");
  CHECK(samples["__metadata__"]["c"] == "step 3, 16384 of 20001 elements");
  CHECK(samples["b"]["shape"] == std::vector<int>{7});
}

TEST_CASE("groups: gradients that are exchanged later than they are ready have samples and no model") {
  TemporaryDirectory folder;
  REQUIRE(train(kGroup + "}\nstaleness: 1\n", folder.path()) == "");
  CHECK_FALSE(read_model_file(folder.path() + "/record/model.txtpb").is_ok());
  CHECK(samples_in(folder.path())["__metadata__"]["a"] == "step 3, 1000 of 1000 elements");
}

TEST_CASE("groups: a consensus, which exchanges parameters, has no samples") {
  TemporaryDirectory folder;
  std::ofstream(folder.path() + "/plan.txtpb") << "version: 1\n" << kGroup << "}\nasynchronous { }\n";
  const auto configure = [&](SessionOptions& options) {
    options.plan_file = folder.path() + "/plan.txtpb";
    options.record_directory = folder.path() + "/record";
  };
  for (const bool consensus : {true, false}) {
    const std::string bad = with_sessions(2, configure, [&](Session& session, RankContext& context) -> std::string {
      const Result<std::vector<GradientId>> ids = declare_members(session);
      if (!ids) return ids.status().text();
      if (const Status begun = consensus ? session.begin_consensus() : Status::ok(); !begun) return begun.text();
      Members members{*ids, parts_of(whole(context.rank, 0))};
      if (const Status sent = members.submit_all(session, 0); !sent) return sent.text();
      const Result<StepResult> done = session.step();
      return done ? "" : done.status().text();
    });
    REQUIRE(bad == "");
    CHECK(std::filesystem::exists(folder.path() + "/record/gradients.safetensors") == !consensus);
  }
}
