// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/profile/job.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/clock.h"
#include "base/env.h"
#include "base/network_interface.h"
#include "runtime/control/join_job.h"
#include "runtime/transport/nearest_interface.h"

namespace casync::tools {
namespace {

using JsonMessage = nlohmann::json;

constexpr Seconds kJobPatience{300};  // with ranks that measure while this one waits

/// An error may name a file by bytes that are no text.
std::string message_text(const JsonMessage& json) {
  return json.dump(-1, ' ', false, JsonMessage::error_handler_t::replace);
}

std::string text_of(const Result<TransportBench>& bench) {
  JsonMessage json;
  if (!bench) {
    json = {{"error", bench.status().message()}};
  } else {
    json = {{"description", bench->description}, {"announced", bench->announced_bytes}, {"rows", JsonMessage::array()}};
    for (const TransportBenchRow& row : bench->rows) {
      json["rows"].push_back({row.bytes, row.latency_us, row.latency_least_us, row.bandwidth_gib_s, row.exchange_ms,
                              row.exchange_least_ms, row.send_processor_s, row.receive_processor_s,
                              row.both_processor_s});
    }
  }
  return message_text(json);
}

/// The measurement as `rank` has told it.
Result<TransportBench> bench_from(Rank rank, const std::string& text) {
  const JsonMessage json = JsonMessage::parse(text, nullptr, false);
  if (!json.is_object() || json.contains("error")) {
    return unavailable("rank " + std::to_string(rank) + ": " +
                       (json.is_object() ? json.value("error", "no measurement") : "an answer that cannot be read"));
  }
  TransportBench bench{json["description"], json["announced"], {}};
  for (const JsonMessage& row : json["rows"]) {
    bench.rows.push_back({row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8]});
  }
  return bench;
}

}  // namespace

Result<std::unique_ptr<ProfileJob>> ProfileJob::join(const runtime::Launch& launch) {
  std::unique_ptr<ProfileJob> job(new ProfileJob(launch));
  Result<std::unique_ptr<runtime::Group>> group = runtime::join_job(launch, {}, kJobPatience);
  CASYNC_RETURN_IF_ERROR(group.status());
  job->group_ = std::move(*group);
  const Result<std::vector<std::string>> nodes = job->gather("nodes", runtime::node_name(launch));
  CASYNC_RETURN_IF_ERROR(nodes.status());
  job->topology_ = Topology::of(*nodes);
  return job;
}

Result<std::vector<std::string>> ProfileJob::gather(const std::string& what, const std::string& mine) {
  return group_->all_gather(what, mine, after(kJobPatience));
}

std::optional<std::pair<Rank, Rank>> ProfileJob::inside() const {
  const std::vector<int>& node = topology_.node_of;
  for (std::size_t a = 0; a < node.size(); ++a) {
    const auto b = std::find(node.begin() + static_cast<std::ptrdiff_t>(a) + 1, node.end(), node[a]);
    if (b != node.end()) return std::pair(static_cast<Rank>(a), static_cast<Rank>(b - node.begin()));
  }
  return std::nullopt;
}

std::vector<std::pair<Rank, Rank>> ProfileJob::between() const {
  std::vector<Rank> first;  // of each node
  std::set<int> seen;
  for (Rank rank = 0; rank < topology_.ranks; ++rank) {
    if (seen.insert(topology_.node_of[static_cast<std::size_t>(rank)]).second) first.push_back(rank);
  }
  std::vector<std::pair<Rank, Rank>> pairs;
  for (std::size_t a = 0; a < first.size(); ++a) {
    const std::size_t end = first.size() <= kMostPaired ? first.size() : std::min(a + 2, first.size());
    for (std::size_t b = a + 1; b < end; ++b) pairs.emplace_back(first[a], first[b]);
  }
  return pairs;
}

std::string ProfileJob::own_interface() const {
  return runtime::nearest_interface(listed_interfaces(runtime::interface_for(launch_, group_->local_ranks())),
                                    {"", launch_.local_rank});
}

Result<TransportBench> ProfileJob::measure(TransportBenchOptions options, std::pair<Rank, Rank> pair) {
  options.interface_name = own_interface();
  const auto swap = [&](const std::string& mine) -> Result<std::string> {
    Result<std::vector<std::string>> all = gather("addresses", mine);
    CASYNC_RETURN_IF_ERROR(all.status());
    return (*all)[static_cast<std::size_t>(launch_.rank == pair.first ? pair.second : pair.first)];
  };
  std::string mine;
  if (launch_.rank == pair.first || launch_.rank == pair.second) {
    const Rank side = launch_.rank == pair.first ? 0 : 1;
    mine = text_of(bench_transport(options, {side, group_->epoch() + ++measured_, swap}));
  } else {
    CASYNC_RETURN_IF_ERROR(swap("").status());
    ++measured_;
  }
  const Result<std::vector<std::string>> all = gather("measured", mine);
  CASYNC_RETURN_IF_ERROR(all.status());
  return bench_from(pair.first, (*all)[static_cast<std::size_t>(pair.first)]);
}

std::vector<Rank> ProfileJob::peers_of(Rank root, bool same_node) const {
  const auto node_of = [&](Rank rank) { return topology_.node_of[static_cast<std::size_t>(rank)]; };
  std::set<int> seen = {node_of(root)};
  std::vector<Rank> peers;
  for (Rank rank = 0; rank < topology_.ranks; ++rank) {
    if (rank == root) continue;
    if (same_node ? node_of(rank) == node_of(root) : seen.insert(node_of(rank)).second) peers.push_back(rank);
  }
  return peers;
}

Result<std::vector<double>> ProfileJob::measure(FanOptions options, const std::vector<FanRun>& runs) {
  options.interface_name = own_interface();
  const FanSide side{launch_.rank, launch_.ranks, group_->epoch() + ++measured_,
                     [&](const std::string& what, const std::string& mine) { return gather(what, mine); }};
  const Result<std::vector<double>> mine = measure_fans(options, side, runs);
  const JsonMessage own = mine ? JsonMessage{{"seconds", *mine}} : JsonMessage{{"error", mine.status().message()}};
  const Result<std::vector<std::string>> all = gather("fans", message_text(own));
  CASYNC_RETURN_IF_ERROR(mine.status());
  CASYNC_RETURN_IF_ERROR(all.status());
  std::vector<double> seconds;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const JsonMessage json = JsonMessage::parse((*all)[static_cast<std::size_t>(runs[i].root)], nullptr, false);
    if (!json.is_object() || !json.contains("seconds")) {
      return unavailable("rank " + std::to_string(runs[i].root) + ": " +
                         (json.is_object() ? json.value("error", "no measurement") : "an answer that cannot be read"));
    }
    seconds.push_back(json["seconds"][i]);
  }
  return seconds;
}

Result<OwnProcessors> ProfileJob::own_processors() {
  const std::vector<int> usable = usable_processors();
  const Result<std::vector<std::string>> all = gather("processors", runtime::processors_name(launch_));
  CASYNC_RETURN_IF_ERROR(all.status());
  int index = 0, ranks = 0;
  const auto self = static_cast<std::size_t>(launch_.rank);
  for (std::size_t rank = 0; rank < all->size(); ++rank) {
    if ((*all)[rank] != (*all)[self]) continue;
    if (rank < self) ++index;
    ++ranks;
  }
  return OwnProcessors{share_of(usable, index, ranks), ranks_per_processor(ranks, usable.size())};
}

Status ProfileJob::close() { return group_->close(after(Seconds(5))); }

}  // namespace casync::tools
