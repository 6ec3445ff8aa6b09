// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/report/flow.h"

#include <catch2/catch.hpp>
#include <string>

namespace casync::tools {
namespace {

/// `gbits` gigabits from one second to another.
FlowPart part(double from_s, double to_s, double gbits) { return {{from_s, to_s}, gbits * 1e9 / 8}; }

MessageWay way(Rank from, Rank to, double begin, double end) {
  const MessageWay::Interval when{begin, end};
  return {from, to, 0, 1e9 / 8, when, when};
}

}  // namespace

TEST_CASE("report: a flow is the sum of the rates of messages that are on their way") {
  const Flow flow = flow_of({part(1, 3, 2), part(2, 4, 6), part(6, 7, 5)}, 1);
  CHECK(flow.at_us == std::vector<double>{0, 1e6, 2e6, 3e6, 5e6, 6e6});
  CHECK(flow.gbit_per_s == std::vector<double>{1, 4, 3, 0, 5, 0});
  CHECK(flow_of({}, 0).at_us.empty());
}

TEST_CASE("report: a flow ends at zero, however many rates were added") {
  std::vector<FlowPart> parts;
  for (int i = 0; i < 1000; ++i) parts.push_back(part(i * 0.1, i * 0.1 + 0.7 / (i + 1), 1.0 / 3));
  CHECK(flow_of(parts, 0).gbit_per_s.back() == 0);
}

TEST_CASE("report: a message that took no time by its clocks has a rate nevertheless") {
  const Flow flow = flow_of({part(2, 2, 1e-6), part(5, 4, 2e-6)}, 0);
  CHECK(flow.at_us == std::vector<double>{2e6, 2e6 + 1, 5e6, 5e6 + 1});
  CHECK(flow.gbit_per_s == std::vector<double>{1, 0, 2, 0});
}

TEST_CASE("report: each rank has a flow out and one in, if it has messages") {
  const nlohmann::ordered_json flows = flow_columns({way(0, 1, 1, 2), way(0, 2, 1, 2), way(2, 0, 4, 5)}, 0);
  std::string of;
  for (const auto& flow : flows) of += flow["rank"].dump() + flow["way"].get<std::string>() + " ";
  CHECK(of == "0out 0in 1in 2out 2in ");
  CHECK(flows[0]["gbit_per_s"] == std::vector<double>{2, 0});
  CHECK(flows[1]["at_us"] == std::vector<double>{4e6, 5e6});
}

TEST_CASE("report: an end of a message that was not seen is no flow") {
  MessageWay one = way(0, 1, 1, 2);
  one.in = std::nullopt;
  const nlohmann::ordered_json flows = flow_columns({one}, 0);
  REQUIRE(flows.size() == 1);
  CHECK(flows[0]["way"] == "out");
}

}  // namespace casync::tools
