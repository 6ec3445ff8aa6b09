// SPDX-License-Identifier: Apache-2.0
// casync profile: measures the costs of links and codecs on this machine, for plan, explain and simulate.
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/env.h"
#include "casync/planner/profile_file.h"
#include "compll/codec/codec.h"
#include "tools/casync/bench/table.h"
#include "tools/casync/exit_code.h"
#include "tools/casync/profile/measure.h"
#include "tools/casync/profile/processors.h"
#include "tools/casync/subcommands.h"
#include "tools/casync/version.h"

namespace casync::tools {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  ProfileOptions profile;
  std::string output, name;
  bool json = false;
};

std::string machine() {
  std::string text;
  for (const std::string& line : about_this_machine()) text += (text.empty() ? "" : "; ") + line;
  return text;
}

/// The measurements, as comments at the end of the profile, so that one can fit again.
std::string raw_comments(const MeasuredProfile& measured) {
  std::string text = "\n";
  char line[200];
  for (const std::string& note : measured.notes) text += "# " + note + "\n";
  for (const Measured& raw : measured.raw) {
    std::snprintf(line, sizeof line, ": off by %.1f %% at most, %.1f %% on average\n", 100 * raw.worst, 100 * raw.mean);
    text += "# measured " + raw.what + (raw.worst > 0 ? line : "\n");
    for (const Curve::Point& point : raw.points) {
      std::snprintf(line, sizeof line, "#   %.8g %.6g\n", point.size, point.seconds);
      text += line;
    }
  }
  return text;
}

Json json_of(const MeasuredProfile& measured, const std::string& text) {
  Json json{{"profile", text}, {"notes", measured.notes}, {"measured", Json::array()}};
  for (const Measured& raw : measured.raw) {
    Json points = Json::array();
    for (const Curve::Point& point : raw.points) points.push_back({point.size, point.seconds});
    json["measured"].push_back({{"what", raw.what}, {"worst", raw.worst}, {"mean", raw.mean}, {"points", points}});
  }
  return json;
}

Status profile(Options options) {
  if (options.profile.codecs.empty())
    options.profile.codecs = {"none", "bf16", "fp16", "fp8_e4m3", "int8", "int4", "onebit"};
  options.profile.progress = [](const std::string& what) {
    std::fprintf(stderr, "casync profile: %s\n", what.c_str());
  };
  const Result<runtime::Launch> launch = runtime::read_launch({}, foreign_env_text);
  if (!launch) return launch.status();
  options.profile.processors = usable_processors();
  if (launch->rank == 0) {
    // While there are no threads yet, and the other ranks wait for this one to join.
    for (const auto& [transport, steps] : {std::pair(options.profile.inside, &options.profile.tiny_inside),
                                           std::pair(options.profile.between, &options.profile.tiny_between)}) {
      options.profile.progress("tasks: steps of tiny gradients over " + transport);
      Result<TinySteps> measured = measure_tiny_steps({transport, options.profile.quick ? 0.1 : 0.4});
      if (!measured) return measured.status();
      *steps = std::move(*measured);
    }
  }
  std::unique_ptr<ProfileJob> job;
  if (launch->ranks > 1) {
    Result<std::unique_ptr<ProfileJob>> joined = ProfileJob::join(*launch);
    if (!joined) return joined.status();
    job = std::move(*joined);
    options.profile.job = job.get();
    if (job->rank() != 0) options.profile.progress = [](const std::string&) {};
  }
  Result<MeasuredProfile> measured = measure_profile(options.profile);
  if (!measured) return measured.status();
  if (launch->rank != 0) return Status::ok();
  measured->profile.name = options.name.empty() ? "this machine" : options.name;
  measured->profile.source = std::string("casync profile ") + kVersion + "; " + machine();
  Result<std::string> text = text_of_profile(measured->profile);
  if (!text) return text.status();
  *text += raw_comments(*measured);
  if (!options.output.empty()) {
    std::ofstream file(options.output, std::ios::binary);
    file << *text;
    file.close();
    if (!file) return unavailable(options.output + ": cannot be written");
  }
  if (options.json) {
    std::printf("%s\n", json_of(*measured, *text).dump(2).c_str());
  } else if (options.output.empty()) {
    std::printf("%s", text->c_str());
  } else {
    for (const std::string& note : measured->notes) std::printf("%s\n", note.c_str());
    for (const Measured& raw : measured->raw) {
      if (raw.worst > 0)
        std::printf("  %-64s off by %4.1f %% at most, %4.1f %% on average\n", raw.what.c_str(), 100 * raw.worst,
                    100 * raw.mean);
    }
  }
  return Status::ok();
}

}  // namespace

void add_profile(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("profile", "Measure what links and codecs cost here, for plan and simulate");
  command->footer(
      "Under a launcher, as in `casync run -n 2 -- casync profile`, links are those between its ranks; rank 0 prints.");
  command->add_option("-o,--output", options->output, "Write the profile there (default: stdout)");
  command->add_option("--codecs", options->profile.codecs, "Codecs, as int8,int4:block=64 (default: the common ones)")
      ->delimiter(',');
  command->add_option("--between", options->profile.between, "Transport that stands for the link between nodes")
      ->capture_default_str();
  command->add_option("--inside", options->profile.inside, "Transport that stands for the link inside a node")
      ->capture_default_str();
  command->add_option("--name", options->name, "The profile's name");
  command->add_flag("--quick", options->profile.quick, "Fewer sizes, less time on each");
  command->add_flag("--json", options->json, "With all measured points, as a JSON object");
  command->callback([=, &invocation] {
    const Status status = profile(*options);
    invocation.exit_code = status.is_ok() ? kExitOk : fail("profile", status);
  });
}

}  // namespace casync::tools
