// SPDX-License-Identifier: Apache-2.0
//
// The terms of a profile, computed from made-up numbers instead of measurements.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tools/casync/profile/contention.h"
#include "tools/casync/profile/fans.h"
#include "tools/casync/profile/processors.h"
#include "tools/casync/profile/terms.h"

namespace casync::tools {

TEST_CASE("profile: a slowdown is the median of what the least times say, so that disturbed rounds do not count") {
  const Slowdown slowdown = slowdown_of("encode", {{{1, 2}, {5, 9}, {9, 2.5}}, {{2, 3}}, {{1, 4}, {1, 40}}});
  CHECK(slowdown.what == "encode");
  CHECK(slowdown.times == 2);  // median of 2, 1.5 and 4
  CHECK(slowdown.worst == Approx(0.5));
  CHECK(slowdown.mean == Approx((0 + 1.0 / 3 + 0.5) / 3));
  CHECK(slowdown_of("x", {{{1, 2}}, {{1, 3}}}).times == 2.5);
}

TEST_CASE("profile: a slowdown is never below 1, and 1 where nothing was measured") {
  const Slowdown faster = slowdown_of("x", {{{1, 0.8}}});
  CHECK(faster.times == 1);
  CHECK(faster.worst == Approx(0.25));
  CHECK(slowdown_of("x", {}).times == 1);
  CHECK(slowdown_of("x", {{}, {{0, 0}}}).times == 1);
}

TEST_CASE("profile: runs of fans are each peer alone and then 3, 7, or as many as there are") {
  CHECK(fan_runs(0, {}).empty());
  CHECK(fan_runs(0, {4}).empty());
  const auto sizes = [](std::vector<Rank> peers) {
    std::vector<std::size_t> in, out;
    for (const FanRun& run : fan_runs(9, std::move(peers))) {
      CHECK(run.root == 9);
      CHECK(std::find(run.peers.begin(), run.peers.end(), 9) == run.peers.end());
      (run.kind == FanRun::Kind::kIncast ? in : out).push_back(run.peers.size());
    }
    CHECK(in == out);
    return in;
  };
  using Sizes = std::vector<std::size_t>;
  CHECK(sizes({1, 2}) == Sizes{1, 1, 2});
  CHECK(sizes({1, 2, 3}) == Sizes{1, 1, 1, 3});
  CHECK(sizes({1, 2, 3, 4}) == Sizes{1, 1, 1, 1, 3, 4});
  CHECK(sizes({1, 2, 3, 4, 5, 6, 7, 8, 10, 11}) == Sizes{1, 1, 1, 1, 1, 1, 1, 3, 7});
}

TEST_CASE("profile: a fan is what several peers take over what the same peers take one by one") {
  const std::vector<FanRun> runs = fan_runs(0, {1, 2, 3, 4});
  // A peer's message alone takes 1, 2, 3 and 6 s to come, then 4 s among three and 2.4 s among four; twice that to go.
  const std::vector<double> in{1, 2, 3, 6, 4, 2.4};
  std::vector<double> seconds = in;
  for (const double one : in) seconds.push_back(2 * one + 1);
  const MeasuredFan incast = fan_of(FanRun::Kind::kIncast, runs, seconds);
  CHECK(incast.seen == std::vector<Fan::Point>{{3, 2}, {4, 0.8}});
  CHECK(incast.fan == Fan{{{3, 2}, {4, 1}}});  // four are not faster than one: one alone was slow
  const MeasuredFan outcast = fan_of(FanRun::Kind::kOutcast, runs, seconds);
  CHECK(outcast.fan == Fan{{{3, 1.8}, {4, 1}}});
  for (const Fan& fan : {incast.fan, outcast.fan}) {
    for (std::size_t i = 0; i < fan.points.size(); ++i) CHECK(fault_of_point(fan.points, i).empty());
  }
}

TEST_CASE("profile: the processor time of both ways at once is shared out as one way takes it") {
  std::vector<Curve::Point> send{{256, 3}, {1024, 8}, {4096, 0}}, receive{{256, 1}, {1024, 2}, {4096, 0}};
  share_out({{256, 2}, {1024, 15}, {4096, 7}}, send, receive);
  CHECK(send == std::vector<Curve::Point>{{256, 1.5}, {1024, 12}, {4096, 0}});
  CHECK(receive == std::vector<Curve::Point>{{256, 0.5}, {1024, 3}, {4096, 0}});
}

TEST_CASE("profile: ranks that may run on the same processors each have a part of them, and at least one") {
  using Processors = std::vector<int>;
  const Processors eight{0, 1, 2, 3, 8, 9, 10, 11};
  CHECK(share_of(eight, 0, 1) == eight);
  CHECK(share_of(eight, 1, 2) == Processors{8, 9, 10, 11});
  CHECK(share_of(eight, 2, 3) == Processors{8, 9});
  CHECK(share_of({5}, 3, 4) == Processors{5});
  CHECK(share_of({5, 6}, 3, 4) == Processors{6});
  CHECK(share_of({}, 0, 2).empty());
  const Processors before = usable_processors();
  REQUIRE_FALSE(before.empty());
  {
    const StayOn one({before.back()});
    CHECK(usable_processors() == Processors{before.back()});
  }
  CHECK(usable_processors() == before);
}

TEST_CASE("profile: two ranks on one processor have twice the processor time, and the link's as measured") {
  MeasuredProfile made;
  Profile& profile = made.profile;
  profile.processors = 1;
  profile.task_s = 1e-6;
  profile.bundled_task_s = 1e-7;
  profile.codecs["int8"] = {Curve::affine(1, 2), Curve::affine(3, 4), Curve::affine(5, 6), Curve::affine(7, 8)};
  profile.between.latency_s = 1;
  profile.between.message_s = 2;
  profile.between.wire = Curve::affine(3, 4);
  profile.between.send_work = Curve::affine(5, 6);
  profile.inside.receive_work = Curve::affine(7, 8);
  const Profile alone = profile;

  share_processors(1, made);
  CHECK(profile == alone);
  CHECK(made.notes.empty());

  share_processors(2, made);
  const CodecCurves twice = {Curve::affine(2, 4), Curve::affine(6, 8), Curve::affine(10, 12), Curve::affine(14, 16)};
  CHECK(profile.codecs["int8"].encode == twice.encode);
  CHECK(profile.codecs["int8"].decode == twice.decode);
  CHECK(profile.codecs["int8"].merge == twice.merge);
  CHECK(profile.codecs["int8"].merge_base == twice.merge_base);
  CHECK(profile.between.send_work == Curve::affine(10, 12));
  CHECK(profile.inside.receive_work == Curve::affine(14, 16));
  CHECK(profile.between.wire == alone.between.wire);
  CHECK(profile.between.message_s == alone.between.message_s);
  // Two processes on the same processor have measured it.
  CHECK(profile.task_s == alone.task_s);
  REQUIRE(made.notes.size() == 1);
  CHECK(made.notes[0].find("2 ranks compete for each processor") == 0);

  made.profile = alone;
  share_processors(4, made);
  CHECK(profile.task_s == 2 * alone.task_s);
  CHECK(profile.bundled_task_s == 2 * *alone.bundled_task_s);
}

}  // namespace casync::tools
