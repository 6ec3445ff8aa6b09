// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/profile/terms.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "tools/casync/profile/contention.h"
#include "tools/casync/profile/fans.h"
#include "tools/casync/profile/fit.h"

namespace casync::tools {
namespace {

constexpr double kTinyMessage = 256;  // of a message in a step of tiny gradients

/// Seconds for each more of the steps' `times` times `count`.
double slope(const std::string& what, const std::vector<TinyStep>& steps, double TinyStep::*count,
             MeasuredProfile& made, double times = 1) {
  std::vector<Curve::Point> points;
  for (const TinyStep& step : steps) points.push_back({times * (step.*count), step.seconds});
  const Line line = fit_line(points);
  made.raw.push_back({what, std::move(points), line.worst, line.mean});
  return rounded(line.slope);
}

Fan fan(const std::string& what, FanRun::Kind kind, const std::vector<FanRun>& runs, const std::vector<double>& seconds,
        MeasuredProfile& made) {
  const MeasuredFan measured = fan_of(kind, runs, seconds);
  Measured raw{what + ", times as long by peers", {}, 0, 0};
  for (std::size_t i = 0; i < measured.seen.size(); ++i) {
    const Fan::Point& seen = measured.seen[i];
    raw.points.push_back({static_cast<double>(seen.peers), seen.slowdown});
    const double off = std::abs(measured.fan.points[i].slowdown - seen.slowdown) / seen.slowdown;
    raw.worst = std::max(raw.worst, off);
    raw.mean += off / static_cast<double>(measured.seen.size());
  }
  made.raw.push_back(std::move(raw));
  return measured.fan;
}

}  // namespace

void add_task_costs(const ProfileOptions& options, MeasuredProfile& made) {
  if (options.tiny_inside.fused.empty()) return;
  Profile& profile = made.profile;
  profile.task_s = slope("steps of tiny gradients whose messages travel together, by tasks of a rank",
                         options.tiny_inside.fused, &TinyStep::tasks, made);
  // The tasks of a gradient in one partition: the fused ones have two.
  const TinyStep& most = options.tiny_inside.fused.back();
  const double each = most.tasks / (2 * most.gradients);
  profile.bundled_task_s = slope("steps of tiny gradients in bundles, by the tasks that each would have alone",
                                 options.tiny_inside.bundled, &TinyStep::gradients, made, each);
  made.notes.push_back(fmt::format("a task costs {:.2f} us, and {:.2f} us of a small gradient in a bundle",
                                   profile.task_s * 1e6, *profile.bundled_task_s * 1e6));
  const auto message = [&](const char* name, const TinySteps& steps, Link& link) {
    const std::string what = std::string(name) + ": steps of tiny gradients that travel alone, by messages of a rank";
    const double seconds = slope(what, steps.single, &TinyStep::messages, made);
    link.message_s = rounded(seconds - link.wire.at(kTinyMessage));
    made.notes.push_back(fmt::format("{}: a message that travels alone costs {:.2f} us", name, seconds * 1e6));
  };
  message("inside", options.tiny_inside, profile.inside);
  message("between", options.tiny_between, profile.between);
}

Status add_contention(const ProfileOptions& options, std::vector<int> processors, MeasuredProfile& made) {
  ContentionOptions wanted;
  wanted.codecs = options.codecs;
  wanted.processors = std::move(processors);
  wanted.seconds = options.quick ? 0.03 : 0.1;
  if (options.quick) wanted.rounds = 3;
  wanted.progress = options.progress;
  const Result<MeasuredContention> measured = measure_contention(wanted);
  CASYNC_RETURN_IF_ERROR(measured.status());
  for (const Slowdown& slowdown : measured->each) {
    const std::string what = "contended " + slowdown.what + ", seconds with the other by seconds alone";
    Measured raw{what, {}, slowdown.worst, slowdown.mean};
    for (const std::vector<Beside>& rounds : slowdown.rounds) {
      for (const Beside& round : rounds) raw.points.push_back({round.alone_s, round.beside_s});
    }
    if (raw.points.empty()) return Status::ok();  // nothing encodes: nothing was measured
    made.raw.push_back(std::move(raw));
  }
  const Contention& contention = made.profile.contention = measured->contention;
  made.notes.push_back(
      fmt::format("training and codecs both on {} of the processors: training takes {:.2f} times as long as alone, "
                  "encoding {:.2f}, merging {:.2f}, decoding {:.2f}",
                  std::max<std::size_t>(1, wanted.processors.size()), contention.training, contention.encode,
                  contention.merge, contention.decode));
  return Status::ok();
}

Status add_fans(const ProfileOptions& options, ProfileJob& job, MeasuredProfile& made) {
  const auto add = [&](const std::string& name, const std::string& transport, Rank root, bool same_node, Link& link) {
    const std::vector<FanRun> runs = fan_runs(root, job.peers_of(root, same_node));
    if (runs.empty()) return Status::ok();
    options.progress(name + ": many to one and one to many");
    FanOptions bench;
    bench.transport = transport;
    bench.seconds = options.quick ? 0.05 : 0.2;
    const Result<std::vector<double>> seconds = job.measure(bench, runs);
    CASYNC_RETURN_IF_ERROR(seconds.status());
    const std::string at = " of rank " + std::to_string(root);
    link.incast = fan(name + ": incast" + at, FanRun::Kind::kIncast, runs, *seconds, made);
    link.outcast = fan(name + ": outcast" + at, FanRun::Kind::kOutcast, runs, *seconds, made);
    return Status::ok();
  };
  Profile& profile = made.profile;
  if (const auto pair = job.inside()) {
    CASYNC_RETURN_IF_ERROR(add("inside", options.inside, pair->first, true, profile.inside));
  }
  if (const auto pairs = job.between(); !pairs.empty()) {
    CASYNC_RETURN_IF_ERROR(add("between", options.between, pairs.front().first, false, profile.between));
  }
  return Status::ok();
}

}  // namespace casync::tools
