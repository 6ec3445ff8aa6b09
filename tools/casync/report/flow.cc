// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/report/flow.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace casync::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kLeastSeconds = 1e-6;
constexpr double kGbitPerByte = 8e-9;

enum class Way { kOut, kIn };

/// As many digits as a page draws: tenths of microseconds, and kilobits.
double tenths(double us) { return std::round(us * 10) / 10; }
double kilobits(double gbit_per_s) { return std::round(gbit_per_s * 1e6) / 1e6; }

}  // namespace

Flow flow_of(const std::vector<FlowPart>& parts, double zero_s) {
  struct Change {
    double gbit_per_s = 0;
    int messages = 0;  ///< change of the count at that time
  };
  std::map<double, Change> changes;
  for (const FlowPart& part : parts) {
    const double length_s = std::max(part.when.to_s - part.when.from_s, kLeastSeconds);
    const double rate = part.bytes * kGbitPerByte / length_s;
    Change& begin = changes[part.when.from_s];
    begin.gbit_per_s += rate;
    ++begin.messages;
    Change& end = changes[part.when.from_s + length_s];
    end.gbit_per_s -= rate;
    --end.messages;
  }
  Flow flow;
  double rate = 0;
  int messages = 0;
  for (const auto& [at_s, change] : changes) {
    messages += change.messages;
    // Nothing is on its way: what is left of the sum is rounding.
    rate = messages == 0 ? 0 : rate + change.gbit_per_s;
    flow.at_us.push_back(tenths((at_s - zero_s) * 1e6));
    flow.gbit_per_s.push_back(kilobits(rate));
  }
  return flow;
}

Json flow_columns(const std::vector<MessageWay>& ways, double zero_s) {
  std::map<std::pair<Rank, Way>, std::vector<FlowPart>> parts;
  for (const MessageWay& way : ways) {
    if (way.out) parts[{way.sender, Way::kOut}].push_back({*way.out, way.bytes});
    if (way.in) parts[{way.receiver, Way::kIn}].push_back({*way.in, way.bytes});
  }
  Json flows = Json::array();
  for (const auto& [of, own] : parts) {
    Flow flow = flow_of(own, zero_s);
    flows.push_back({{"rank", of.first},
                     {"way", of.second == Way::kOut ? "out" : "in"},
                     {"at_us", std::move(flow.at_us)},
                     {"gbit_per_s", std::move(flow.gbit_per_s)}});
  }
  return flows;
}

}  // namespace casync::tools
