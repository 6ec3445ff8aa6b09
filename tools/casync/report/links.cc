// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/report/links.h"

#include <set>
#include <utility>

#include "runtime/transport/link.h"
#include "tools/casync/measurement/step_split.h"

namespace casync::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kBitsPerGbit = 1e9;

double gbit(double bytes) { return bytes * 8 / kBitsPerGbit; }

double per(double total, double count) { return count > 0 ? total / count : 0; }

bool is_paced(const TraceFolder& folder) { return !folder.traces.front().link.empty(); }

bool has_several_nodes(const std::vector<std::string>& nodes) {
  std::set<std::string> known(nodes.begin(), nodes.end());
  known.erase("");  // of ranks that left no trace
  return known.size() > 1;
}

bool counts_all(const TraceFolder& folder) { return is_paced(folder) || !has_several_nodes(nodes_of(folder)); }

/// The rate for large messages: the slope of the curve's end.
std::optional<double> bytes_per_second(const Curve& wire) {
  if (wire.points.size() < 2) return std::nullopt;
  const Curve::Point &last = wire.points.back(), &before = wire.points[wire.points.size() - 2];
  if (!(last.seconds > before.seconds)) return std::nullopt;
  return (last.size - before.size) / (last.seconds - before.seconds);
}

/// One rank's steps without the first, which also connects.
struct Steps {
  std::set<std::int32_t> numbers;
  double seconds = 0;
};

Steps steps_of(const RankTrace& trace) {
  std::vector<StepSplit> splits = step_split(trace);
  if (splits.size() > 1) splits.erase(splits.begin());
  Steps steps;
  for (const StepSplit& split : splits) {
    steps.numbers.insert(split.step);
    steps.seconds += split.step_ms * 1e-3;
  }
  return steps;
}

/// The messages that went one way over one rank's link.
struct Load {
  double bytes = 0;
  std::vector<MessageWay::Interval> intervals;

  void add(const MessageWay& way, const MessageWay::Interval& interval) {
    bytes += way.bytes;
    intervals.push_back(interval);
  }
};

Json to_json(Load load, const Steps& steps, const std::optional<LinkRate>& rate) {
  const double busy_s = seconds_of(std::move(load.intervals));
  const double mean = per(load.bytes, steps.seconds);
  return {{"bytes_per_step", per(load.bytes, static_cast<double>(steps.numbers.size()))},
          {"gbit_per_s", gbit(mean)},
          {"utilization", rate ? Json(mean / rate->bytes_per_s) : Json()},
          {"busy", per(busy_s, steps.seconds)},
          {"busy_gbit_per_s", gbit(per(load.bytes, busy_s))}};
}

}  // namespace

std::optional<LinkRate> link_rate(const TraceFolder& folder, const Profile* profile) {
  if (is_paced(folder)) {
    const Result<runtime::Link> link = runtime::parse_link(folder.traces.front().link);
    if (link) return LinkRate{link->bits_per_second / 8, "CASYNC_LINK"};
    return std::nullopt;  // of another version
  }
  if (profile == nullptr) return std::nullopt;
  const Link& link = has_several_nodes(nodes_of(folder)) ? profile->between : profile->inside;
  const std::optional<double> rate = bytes_per_second(link.wire);
  if (!rate) return std::nullopt;
  return LinkRate{*rate, "profile"};
}

std::vector<MessageWay> ways_over_links(const TraceFolder& folder, const std::optional<StepRange>& range) {
  std::vector<MessageWay> ways = ways_of(messages_of(folder, range), hosts_of(folder));
  if (counts_all(folder)) return ways;
  const std::vector<std::string> nodes = nodes_of(folder);
  std::erase_if(ways, [&](const MessageWay& way) {
    return nodes[static_cast<std::size_t>(way.sender)] == nodes[static_cast<std::size_t>(way.receiver)];
  });
  return ways;
}

Json link_numbers(const TraceFolder& folder, const std::optional<LinkRate>& rate) {
  std::map<Rank, Steps> steps;
  for (const RankTrace& trace : folder.traces) steps[trace.rank] = steps_of(trace);
  std::map<Rank, Load> out, in;
  for (const MessageWay& way : ways_over_links(folder)) {
    if (way.out && steps[way.sender].numbers.contains(way.step)) out[way.sender].add(way, *way.out);
    if (way.in && steps[way.receiver].numbers.contains(way.step)) in[way.receiver].add(way, *way.in);
  }
  Json by_rank = Json::array();
  for (const auto& [rank, own] : steps) {
    by_rank.push_back({{"rank", rank}, {"out", to_json(out[rank], own, rate)}, {"in", to_json(in[rank], own, rate)}});
  }
  return {{"messages", counts_all(folder) ? "all" : "between nodes"},
          {"gbit_per_s", rate ? Json(gbit(rate->bytes_per_s)) : Json()},
          {"source", rate ? Json(rate->source) : Json()},
          {"by_rank", std::move(by_rank)}};
}

}  // namespace casync::tools
