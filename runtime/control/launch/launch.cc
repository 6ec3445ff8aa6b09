// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/launch/launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/control/launch/launch_sources.h"
#include "runtime/control/launch/token.h"
#include "runtime/control/wire/address.h"

namespace casync::runtime {
namespace {

Status disagree(const std::string& a, const Said& first, const std::string& b, const Said& second) {
  return invalid_argument(
      fmt::format("{} ({}) and {} ({}) disagree: unset the one that is not meant", first.text(), a, second.text(), b));
}

Status compare(const LaunchSource& a, const LaunchSource& b) {
  if (a.rank && b.rank && a.rank->value != b.rank->value) return disagree(a.name, *a.rank, b.name, *b.rank);
  if (a.ranks && b.ranks && a.ranks->value != b.ranks->value) return disagree(a.name, *a.ranks, b.name, *b.ranks);
  return Status::ok();
}

LaunchSource from_arguments(const LaunchArguments& arguments) {
  LaunchSource source;
  source.name = "arguments";
  if (arguments.rank) source.rank = Said{"rank", *arguments.rank};
  if (arguments.ranks) source.ranks = Said{"size", *arguments.ranks};
  return source;
}

/// A program that names rank, size and rendezvous has said all: it may be a part of a larger job.
bool is_complete(const LaunchArguments& arguments) { return arguments.rank && arguments.ranks && arguments.rendezvous; }

/// Fills what an earlier source left open.
void complete_from(LaunchSource& chosen, const LaunchSource& next) {
  const auto fill = [](std::optional<Said>& mine, const std::optional<Said>& theirs) {
    if (!mine) mine = theirs;
  };
  fill(chosen.rank, next.rank);
  fill(chosen.ranks, next.ranks);
  // A source that counts the same ranks also knows this process's place on its machine.
  fill(chosen.local_rank, next.local_rank);
  fill(chosen.local_ranks, next.local_ranks);
  if (chosen.rendezvous.empty()) {
    chosen.rendezvous = next.rendezvous;
    chosen.ports = next.ports;
  }
  if (chosen.hint.empty()) chosen.hint = next.hint;
  if (chosen.job.empty()) chosen.job = next.job;
}

Result<LaunchSource> choose(const LaunchArguments& arguments, std::vector<LaunchSource> sources) {
  const LaunchSource argued = from_arguments(arguments);
  if (is_complete(arguments)) return argued;
  if (argued.rank || argued.ranks) sources.insert(sources.begin(), argued);
  if (sources.empty()) {
    LaunchSource alone;
    alone.name = "alone";
    return alone;
  }
  LaunchSource chosen = sources.front();
  for (std::size_t i = 1; i < sources.size(); ++i) {
    const bool is_outer = sources[i].may_be_outer && sources[i - 1].name != "arguments";
    if (is_outer) continue;
    CASYNC_RETURN_IF_ERROR(compare(chosen, sources[i]));
    complete_from(chosen, sources[i]);
  }
  return chosen;
}

Status check_numbers(const LaunchSource& source) {
  if (source.rank.has_value() != source.ranks.has_value()) {
    const Said& here = source.rank ? *source.rank : *source.ranks;
    return invalid_argument(fmt::format("{} is given without {}", here.text(), source.rank ? "a size" : "a rank"));
  }
  if (!source.rank) return Status::ok();
  if (source.ranks->value > kMostRanks) {
    return invalid_argument(
        fmt::format("{} is too much: a job has at most {} ranks", source.ranks->text(), kMostRanks));
  }
  if (source.ranks->value >= 1 && source.rank->value >= 0 && source.rank->value < source.ranks->value)
    return Status::ok();
  return invalid_argument(
      fmt::format("{} is outside {}: ranks are 0 .. size - 1", source.rank->text(), source.ranks->text()));
}

Status check_rendezvous(const std::string& rendezvous) {
  if (rendezvous.empty() || rendezvous == "store" || rendezvous == "pmix") return Status::ok();
  if (rendezvous.rfind("file:", 0) == 0 && rendezvous.size() > 5) return Status::ok();
  if (const auto where = parse_host_port(rendezvous)) {
    if (where->port != 0) return Status::ok();
    return invalid_argument(fmt::format(
        "rendezvous \"{}\": at port 0 rank 0 takes any free one, which the others do not know", rendezvous));
  }
  return invalid_argument(fmt::format(
      "rendezvous \"{}\": expected \"host:port\" of rank 0, \"[ipv6]:port\", \"file:DIRECTORY\", \"pmix\" (the "
      "launcher's) or \"store\" (torch's)",
      rendezvous));
}

}  // namespace

Result<Launch> read_launch(const LaunchArguments& arguments, const Environment& env) {
  auto sources = read_sources(env);
  if (!sources) return sources.status();
  auto chosen = choose(arguments, std::move(*sources));
  if (!chosen) return chosen.status();
  CASYNC_RETURN_IF_ERROR(check_numbers(*chosen));
  Launch launch;
  launch.source = chosen->name;
  launch.job = chosen->job;
  if (chosen->rank) {
    launch.rank = chosen->rank->value;
    launch.ranks = chosen->ranks->value;
  }
  if (chosen->local_rank) launch.local_rank = chosen->local_rank->value;
  if (chosen->local_ranks) launch.local_ranks = chosen->local_ranks->value;
  const std::string named = arguments.rendezvous.value_or(env("CASYNC_RENDEZVOUS").value_or(""));
  launch.rendezvous = named.empty() ? chosen->rendezvous : named;
  if (named.empty()) launch.ports = chosen->ports;
  CASYNC_RETURN_IF_ERROR(check_rendezvous(launch.rendezvous));
  if (launch.ranks > 1 && launch.rendezvous.empty()) {
    return invalid_argument(
        fmt::format("{} ranks ({}) and nothing to find each other by{}{}: set CASYNC_RENDEZVOUS on all "
                    "ranks to \"host:port\" of rank 0, or to \"file:DIRECTORY\" on a shared file system",
                    launch.ranks, launch.source, chosen->hint.empty() ? "" : "; ", chosen->hint));
  }
  auto token = arguments.token ? check_token(*arguments.token, "the argument \"token\"") : read_token(env);
  if (!token) return token.status();
  launch.token = std::move(*token);
  launch.node = arguments.node ? *arguments.node : env("CASYNC_NODE").value_or("");
  return launch;
}

}  // namespace casync::runtime
