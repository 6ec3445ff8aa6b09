// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <filesystem>

#include "casync/planner/plan_module/profile_io.h"
#include "tests/casync/plan/plan_texts.h"

namespace casync {
namespace {

const std::string kLeastProfile =
    "version: 1\nmemory_bytes_per_second: 1e9\nbetween { latency_seconds: 1e-5 bytes_per_second: 1.25e9 }\n";

std::string profile_refusal(const std::string& text) { return parse_profile(text, "f").status().message(); }

}  // namespace

TEST_CASE("profile: three lines are enough, and what they leave out has its meaning") {
  const Result<Profile> profile = parse_profile(kLeastProfile, "f");
  REQUIRE(profile.status().text() == "OK");
  CHECK(profile->memory_bytes_per_second == 1e9);
  CHECK(profile->between.latency_s == 1e-5);
  CHECK(profile->between.wire.at(1.25e9) == Approx(1));
  CHECK(profile->inside == profile->between);
  CHECK(profile->contention == Contention{});
  CHECK(profile->launch_s == 0);
  CHECK_FALSE(profile->node_shares_port);
  CHECK(profile->processors == 0);
  CHECK_FALSE(profile->bundled_task_s);
  CHECK(profile->between.send_work.empty());
  CHECK(profile->between.receive_work.empty());
}

TEST_CASE("profile: a written one reads back to the same") {
  const Result<Profile> profile = parse_profile(
      kLeastProfile +
          "name: \"n\" source: \"s\" launch_seconds: 5e-6 contention: 1.25 node_shares_port: true processors: 3\n"
          "task_seconds: 2e-6 bundled_task_seconds: 3e-7 contended { training: 1.5 encode: 2 merge: 1 }\n"
          "inside { message_seconds: 1e-6 incast { peers: 2 slowdown: 1 } incast { peers: 7 slowdown: 1.5 } outcast { "
          "peers: "
          "3 slowdown: 2 } send_work { point { size: 0 seconds: 1e-6 } point { size: 1e6 seconds: 3e-4 } } "
          "receive_work { point { size: 7 seconds: 2e-6 } } announced_bytes: 65536 point { size: 0 seconds: 1e-6 } "
          "point { size: 1e6 seconds: "
          "2e-6 } }\n"
          "upload { point { size: 0 seconds: 1e-5 } } download { point { size: 9 seconds: 2e-5 } }\n"
          "codec { name: \"int4:block=64\" encode { point { size: 0 seconds: 1 } } merge { point { size: 3 seconds: 2 "
          "} } merge_base { point { size: 9 seconds: 4 } } }",
      "f");
  REQUIRE(profile.status().text() == "OK");
  CHECK(profile->task_s == 2e-6);
  CHECK(profile->bundled_task_s == 3e-7);
  CHECK(profile->contention == Contention{1.5, 2, 1, 1.25});
  CHECK(profile->inside.incast == Fan{{{2, 1}, {7, 1.5}}});
  CHECK(profile->inside.outcast == Fan{{{3, 2}}});
  CHECK(profile->between.incast.empty());
  CHECK(profile->codecs.at("int4:block=64").merge_base == Curve{{{9, 4}}});
  CHECK(profile->processors == 3);
  CHECK(profile->upload == Curve{{{0, 1e-5}}});
  CHECK(profile->download == Curve{{{9, 2e-5}}});
  CHECK(profile->inside.send_work == Curve{{{0, 1e-6}, {1e6, 3e-4}}});
  CHECK(profile->inside.receive_work.at(1e9) == 2e-6);
  CHECK(profile->inside.announced_bytes == 65536);
  CHECK(profile->between.announced_bytes == 0);
  CHECK(profile->between.send_work.empty());
  const Result<Profile> again = parse_profile(profile_text(*profile), "again");
  REQUIRE(again.status().text() == "OK");
  CHECK(*again == *profile);
}

TEST_CASE("profile: each mistake is refused with its place") {
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"", "f:1:1: no version, expected version: 1"},
      {"version: 2\nwhat: 3",
       "f:1:1: version 2, expected version: 1 (the file was written for another CaSync than this)"},
      {kLeastProfile + "lunch_seconds: 1",
       "f:4:1: unknown field `lunch_seconds`, expected version, name, source, memory_bytes_per_second, launch_seconds, "
       "contention, between, inside, node_shares_port, codec, task_seconds, contended, processors, upload, download or "
       "bundled_task_seconds "
       "(did you mean "
       "`launch_seconds`?)"},
      {kLeastProfile + "launch_seconds: -1", "f:4:1: launch_seconds -1, expected a finite number of at least 0"},
      {kLeastProfile + "launch_seconds: nan", "f:4:1: launch_seconds nan, expected a finite number of at least 0"},
      {kLeastProfile + "contention: 0.5", "f:4:1: contention 0.5, expected a finite number of at least 1"},
      {kLeastProfile + "contended { merge: 0.9 }", "f:4:13: merge 0.9, expected a finite number of at least 1"},
      {kLeastProfile + "contended { training: nan }", "f:4:13: training nan, expected a finite number of at least 1"},
      {kLeastProfile + "task_seconds: -1", "f:4:1: task_seconds -1, expected a finite number of at least 0"},
      {kLeastProfile + "bundled_task_seconds: -1",
       "f:4:1: bundled_task_seconds -1, expected a finite number of at least 0"},
      {kLeastProfile + "processors: 0", "f:4:1: processors 0, expected at least 1"},
      {kLeastProfile + "processors: -2", "f:4:1: processors -2, expected at least 1"},
      {kLeastProfile + "inside { bytes_per_second: 1 send_work {\n point { size: 1 seconds: -1 } } }",
       "f:5:2: a point with seconds that are negative or not finite, expected rising sizes and no falling seconds"},
      {kLeastProfile + "inside { bytes_per_second: 1 receive_work {\n point { size: 1 seconds: nan } } }",
       "f:5:2: a point with seconds that are negative or not finite, expected rising sizes and no falling seconds"},
      {kLeastProfile + "inside { bytes_per_second: 1 announced_bytes: -1 }",
       "f:4:30: announced_bytes -1, expected a finite number of at least 0"},
      {kLeastProfile + "inside { bytes_per_second: 1 send_work { bytes_per_second: 3 } }",
       "f:4:42: unknown field `bytes_per_second`, expected point"},
      {kLeastProfile + "inside { bytes_per_second: 1 incast { peers: 4 } }",
       "f:4:30: no peers or no slowdown, expected { peers: NUMBER slowdown: NUMBER }"},
      {kLeastProfile + "inside { bytes_per_second: 1\noutcast { peers: 4 slowdown: 0.5 } }",
       "f:5:1: a slowdown below 1, or not finite, expected rising peers from 2 and slowdowns of at least 1"},
      {kLeastProfile +
           "inside { bytes_per_second: 1 incast { peers: 1 slowdown: 2 }\nincast { peers: 1 slowdown: inf } }",
       "f:4:30: peers below 2, expected rising peers from 2 and slowdowns of at least 1\n"
       "f:5:1: peers below 2, expected rising peers from 2 and slowdowns of at least 1"},
      {kLeastProfile + "inside { latency_seconds: 1 }",
       "f:4:1: a link with both or neither of bytes_per_second and points, expected one of them"},
      {kLeastProfile + "inside { bytes_per_second: 0 }",
       "f:4:10: bytes_per_second 0, expected a finite number of at least 1"},
      {kLeastProfile + "upload { point { size: 1 seconds: 2 } }",
       "f:1:1: only one of upload and download, expected both, or neither for codecs that run on a processor"},
      {kLeastProfile + "codec { encode { } }", "f:4:1: a codec without a name, expected name: \"NAME\""},
      {kLeastProfile + "codec { name: \"a\" merge_base { point { size: 1 seconds: 2 } } }",
       "f:4:1: merge_base without merge, expected both"},
      {kLeastProfile + "codec { name: \"a\" }\ncodec { name: \"a\" }",
       "f:5:1: codec \"a\" a second time, expected once"},
      {kLeastProfile + "codec { name: \"a\" decode { point { size: 1 } } }",
       "f:4:28: a point without a size or without seconds, expected point { size: NUMBER seconds: NUMBER }"},
      {kLeastProfile + "codec { name: \"a\" decode {\n point { size: 1 seconds: 2 }\n point { size: 2 seconds: 1 } } }",
       "f:6:2: a point with less seconds than the smaller size before it, expected rising sizes and no falling "
       "seconds"},
      {kLeastProfile + "codec { name: \"a\" merge {\n point { size: inf seconds: 2 } } }",
       "f:5:2: a point with a size that is negative or not finite, expected rising sizes and no falling seconds"},
      {"version: 1",
       "f:1:1: no memory_bytes_per_second, expected a number\n"
       "f:1:1: no link between nodes, expected between { latency_seconds: NUMBER bytes_per_second: NUMBER }"},
  };
  for (const auto& [text, message] : mistakes) {
    CAPTURE(text);
    CHECK(profile_refusal(text) == message);
  }
}

TEST_CASE("profile: shipped examples are read") {
  const auto profiles = plans_in(std::filesystem::path(CASYNC_SOURCE_DIR) / "examples/profiles");
  CHECK(profiles.size() >= 5);
  for (const auto& path : profiles) {
    const Result<Profile> profile = parse_profile(text_of_file(path), path.filename().string());
    CHECK(profile.status().text() == "OK");
    if (profile) CHECK_FALSE(profile->source.empty());
  }
}

}  // namespace casync
