// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "tools/casync/measurement/on_the_way.h"

namespace casync::tools {

/// A rate over time: `gbit_per_s[i]` from `at_us[i]` until the next one. The last rate is 0.
struct Flow {
  std::vector<double> at_us, gbit_per_s;
};

/// One message's part of a flow.
struct FlowPart {
  MessageWay::Interval when;
  double bytes = 0;
};

/// The sum of these messages, each of which has the same rate all its way long. A message that was there at once, as
/// clocks say, takes one microsecond. Times count from `zero_s`.
Flow flow_of(const std::vector<FlowPart>& parts, double zero_s);

/// The flows out of and into each rank that has any, for the page: an array of rank, way ("out", "in"), at_us and
/// gbit_per_s.
nlohmann::ordered_json flow_columns(const std::vector<MessageWay>& ways, double zero_s);

}  // namespace casync::tools
