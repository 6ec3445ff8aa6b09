// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/timeline.h"

#include <signal.h>
#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/runtime/session/plan_file.h"
#include "tests/support/ranks.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

TEST_CASE("timeline: a session's file has its tasks, its lanes and its gradients") {
  casync::test::TemporaryDirectory directory;
  const std::string complaints = casync::test::with_sessions(
      2,
      [&](SessionOptions& options) {
        options.codec = CodecChoice{"int8", {}};
        options.trace_directory = directory.path();
      },
      [](Session& session, casync::test::RankContext&) -> std::string {
        const Result<GradientId> id = session.declare({"fc \"1\"", DType::kFloat32, {300000}, 3});
        std::vector<float> values(300000, 1.0f);
        for (int step = 0; step < 2; ++step) {
          const Submission one{*id, {reinterpret_cast<std::byte*>(values.data()), values.size() * 4}};
          if (!session.submit({&one, 1})) return "submit";
          if (!session.step()) return "step";
        }
        return "";
      });
  REQUIRE(complaints == "");
  std::set<std::string> jobs;
  for (int rank : {0, 1}) {
    std::ifstream file(directory.path() + "/rank" + std::to_string(rank) + ".trace.json");
    const nlohmann::json trace = nlohmann::json::parse(file);
    std::map<std::string, int> count;
    for (const nlohmann::json& event : trace["traceEvents"]) {
      CHECK(event["pid"] == rank);
      if (event["ph"] != "X") continue;
      ++count[event["cat"]];
      CHECK(event["dur"].get<double>() >= 0);
      const bool of_gradient = event["cat"] != "step" && event["cat"] != "backward";
      CHECK(event["args"].contains("gradient") == of_gradient);
      if (of_gradient) CHECK(event["args"]["gradient"] == "fc \"1\"");
    }
    CHECK(count["step"] == 2);
    CHECK(count["backward"] == 2);
    CHECK(count["encode"] > 0);
    CHECK(count["merge"] > 0);
    CHECK(count["send"] == count["recv"]);
    CHECK(count["decode"] == count["encode"] + count["merge"]);  // others' partitions, and those that this rank owns
    const nlohmann::json& header = trace["casync"];
    CHECK(header["ranks"] == 2);
    CHECK(header["plan_mode"] == "");
    jobs.insert(header["job"].get<std::string>());
    CHECK(header["stats"]["steps"] == 2);
    CHECK(header["gradients"][0]["codec"] == "int8");
    CHECK(header["gradients"][0]["priority"] == 3);
    CHECK(header["gradients"][0]["payload_bytes"].get<int>() > 300000);
  }
  REQUIRE(jobs.size() == 1);
  CHECK(jobs.begin()->size() == 16);
}

TEST_CASE("timeline: the header has the plan's mode, as plans have it") {
  const casync::test::TemporaryDirectory directory;
  const casync::test::PlanFile plan("asynchronous { bound: 3 }");
  const std::string complaints = casync::test::with_sessions(
      2,
      [&](SessionOptions& options) {
        options.plan_file = plan.path();
        options.trace_directory = directory.path();
      },
      [](Session& session, casync::test::RankContext&) -> std::string {
        const Result<GradientId> id = session.declare({"a", DType::kFloat32, {8}, 0});
        std::vector<float> values(8, 1.0f);
        const Submission one{*id, {reinterpret_cast<std::byte*>(values.data()), values.size() * 4}};
        if (!session.submit({&one, 1})) return "submit";
        return session.step() ? "" : "step";
      });
  REQUIRE(complaints == "");
  std::ifstream file(directory.path() + "/rank0.trace.json");
  const nlohmann::json header = nlohmann::json::parse(file)["casync"];
  CHECK(header["mode"] == "asynchronous");
  CHECK(header["plan_mode"] == "asynchronous { bound: 3 }");
}

TEST_CASE("timeline: a session that opens removes its ranks' files of an earlier one, and no others") {
  const casync::test::TemporaryDirectory directory;
  const auto path = [&](int rank) { return directory.path() + "/rank" + std::to_string(rank) + ".trace.json"; };
  for (const int rank : {0, 1, 2}) std::ofstream(path(rank)) << "of an earlier job";
  const std::string complaints = casync::test::with_sessions(
      2, [&](SessionOptions& options) { options.trace_directory = directory.path(); },
      [&](Session& session, casync::test::RankContext&) -> std::string {
        if (std::filesystem::exists(path(session.rank()))) return "the earlier file is there";
        return "";
      });
  REQUIRE(complaints == "");
  std::set<std::string> jobs;
  for (const int rank : {0, 1}) {
    std::ifstream file(path(rank));
    const nlohmann::json trace = nlohmann::json::parse(file);
    jobs.insert(trace["casync"]["job"].get<std::string>());
  }
  CHECK(jobs.size() == 1);
  CHECK(std::filesystem::exists(path(2)));
}

TEST_CASE("timeline: a backward pass goes from its step's first gradient to the last one that is submitted") {
  casync::test::TemporaryDirectory directory;
  const std::string complaints = casync::test::with_sessions(
      2, [&](SessionOptions& options) { options.trace_directory = directory.path(); },
      [](Session& session, casync::test::RankContext&) -> std::string {
        std::vector<float> values(3);
        std::vector<GradientId> ids;
        for (const char* name : {"a", "b", "c"}) ids.push_back(*session.declare({name, DType::kFloat32, {1}, 0}));
        for (int step = 0; step < 3; ++step) {
          for (std::size_t i = 0; i < ids.size() && step != 1; ++i) {  // step 1 has no gradients
            const Submission one{ids[i], {reinterpret_cast<std::byte*>(&values[i]), 4}};
            const auto handles = session.submit({&one, 1});
            if (!handles) return "submit";
            // The next gradient comes after this one's spans.
            if (Status status = session.wait((*handles)[0], -1, Waiter::kProgram); !status) return status.text();
          }
          if (!session.step()) return "step";
        }
        return "";
      });
  REQUIRE(complaints == "");
  std::ifstream file(directory.path() + "/rank0.trace.json");
  std::map<int, nlohmann::json> backward, step;
  std::map<std::pair<int, std::string>, double> sent;  // by step and gradient: begin
  const nlohmann::json trace = nlohmann::json::parse(file);
  for (const nlohmann::json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const int number = event["args"]["step"];
    if (event["cat"] == "backward") backward[number] = event;
    if (event["cat"] == "step") step[number] = event;
    if (event["cat"] == "send") sent[{number, event["args"]["gradient"]}] = event["ts"];
  }
  CHECK(step.size() == 3);
  REQUIRE(backward.size() == 2);
  for (const int number : {0, 2}) {
    const double begin = backward[number]["ts"], end = begin + backward[number]["dur"].get<double>();
    const double step_begin = step[number]["ts"], step_end = step_begin + step[number]["dur"].get<double>();
    CHECK(step_begin <= begin);
    CHECK(begin <= sent.at({number, "a"}));
    CHECK(sent.at({number, "b"}) <= end);
    CHECK(end <= sent.at({number, "c"}));
    CHECK(end <= step_end);
  }
}

TEST_CASE("timeline: a file says of a gradient if it is scattered, which halves what a rank sends") {
  casync::test::TemporaryDirectory directory;
  constexpr std::size_t kElements = 4096;
  const std::string complaints = casync::test::with_sessions(
      2, [&](SessionOptions& options) { options.trace_directory = directory.path(); },
      [](Session& session, casync::test::RankContext&) -> std::string {
        for (const bool scattered : {false, true}) {
          GradientSpec spec{scattered ? "shard" : "whole", DType::kFloat32, {kElements}, 0};
          spec.scattered = scattered;
          const Result<GradientId> id = session.declare(spec);
          if (!id) return id.status().text();
          std::vector<float> values(kElements, 1.0f);
          const Submission one{*id, {reinterpret_cast<std::byte*>(values.data()), values.size() * 4}};
          if (!session.submit({&one, 1})) return "submit";
          if (!session.step()) return "step";
        }
        return "";
      });
  REQUIRE(complaints == "");
  std::ifstream file(directory.path() + "/rank1.trace.json");
  const nlohmann::json trace = nlohmann::json::parse(file);
  std::map<std::string, nlohmann::json> gradients;
  for (const nlohmann::json& gradient : trace["casync"]["gradients"]) gradients[gradient["name"]] = gradient;
  CHECK(gradients["whole"]["scattered"] == 0);
  CHECK(gradients["shard"]["scattered"] == 1);
  CHECK(gradients["shard"]["payload_bytes"] == 4 * kElements / 2);
}

TEST_CASE("timeline: a step says what its rank's threads took of processors, without what codecs did") {
  casync::test::TemporaryDirectory directory;
  constexpr Elements kElements = 1u << 20;
  const std::string complaints = casync::test::with_sessions(
      2,
      [&](SessionOptions& options) {
        options.codec = CodecChoice{"terngrad", {}};  // encodes for long, and sends little
        options.trace_directory = directory.path();
      },
      [](Session& session, casync::test::RankContext&) -> std::string {
        const Result<GradientId> id = session.declare({"fc", DType::kFloat32, {kElements}, 0});
        std::vector<float> values(kElements, 1.0f);
        for (int step = 0; step < 4; ++step) {
          const Submission one{*id, {reinterpret_cast<std::byte*>(values.data()), values.size() * 4}};
          if (!session.submit({&one, 1})) return "submit";
          if (!session.step()) return "step";
        }
        return "";
      });
  REQUIRE(complaints == "");
  std::ifstream file(directory.path() + "/rank0.trace.json");
  const nlohmann::json trace = nlohmann::json::parse(file);
  double threads_us = 0, codecs_us = 0;
  for (const nlohmann::json& event : trace["traceEvents"]) {
    if (event["ph"] != "X" || event["args"]["step"] == 0) continue;
    const std::string kind = event["cat"];
    CHECK(event["args"].contains("processor_us") == (kind == "step"));
    if (kind == "step") threads_us += event["args"]["processor_us"].get<double>();
    if (kind == "encode" || kind == "merge" || kind == "decode") codecs_us += event["dur"].get<double>();
  }
  CHECK(threads_us > 0);
  CHECK(threads_us < codecs_us / 2);
}

TEST_CASE("timeline: spans that no longer fit are counted, and overwrite none") {
  Timeline timeline(3);
  for (int i = 0; i < 5; ++i) timeline.record({});
  CHECK(timeline.size() == 3);
  CHECK(timeline.dropped() == 2);
}

TEST_CASE("timeline: a file names each of thousands of lanes once, in their order") {
  constexpr std::size_t kSpans = 20000, kPeers = 4096;
  const casync::test::TemporaryDirectory directory;
  Timeline timeline(kSpans);
  for (std::size_t i = 0; i < kSpans; ++i) {
    Span span{};
    span.kind = i % 2 == 0 ? SpanKind::kSend : SpanKind::kRecv;
    span.peer = static_cast<Rank>(kPeers - 1 - i / 2 % kPeers);
    timeline.record(span);
  }
  REQUIRE(timeline.write(directory.path() + "/x.json", 0, "{}").is_ok());
  std::ifstream file(directory.path() + "/x.json");
  const nlohmann::json trace = nlohmann::json::parse(file);
  std::vector<std::string> names;
  for (const nlohmann::json& event : trace["traceEvents"]) {
    if (event["name"] == "thread_name") names.push_back(event["args"]["name"]);
  }
  std::vector<std::string> wanted;
  for (const char* way : {"to", "from"}) {
    for (std::size_t peer = 0; peer < kPeers; ++peer)
      wanted.push_back(std::string(way) + " rank " + std::to_string(peer));
  }
  CHECK(names == wanted);
}

TEST_CASE("timeline: a full disk leaves no file that ends in the middle") {
  const casync::test::TemporaryDirectory directory;
  Timeline timeline(1000);
  for (int i = 0; i < 1000; ++i) timeline.record({});
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit small{4096, before.rlim_max};
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const Status status = timeline.write(directory.path() + "/x.json", 0, "{}");
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  ::signal(SIGXFSZ, handler);
  CHECK(status.code() == StatusCode::kUnavailable);
  CHECK_THAT(status.message(), Catch::Contains("File too large"));
  CHECK(std::filesystem::is_empty(directory.path()));
  CHECK(timeline.write(directory.path() + "/x.json", 0, "{}").text() == "OK");
  CHECK(std::filesystem::exists(directory.path() + "/x.json"));
}

TEST_CASE("timeline: a folder that cannot be written is an error with the path") {
  const Status status = Timeline(1).write("/proc/nowhere/x.json", 0, "{}");
  CHECK(status.code() == StatusCode::kUnavailable);
  CHECK_THAT(status.message(), Catch::Contains("/proc/nowhere/x.json"));
}
