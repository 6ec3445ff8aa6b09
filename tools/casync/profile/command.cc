// SPDX-License-Identifier: Apache-2.0
// casync profile: measures the costs of links and codecs on this machine, for plan, explain and simulate.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/env.h"
#include "casync/model/codec_choice.h"
#include "casync/planner/profile_file.h"
#include "compll/codec/codec.h"
#include "compll/codec/rounds_codec.h"
#include "runtime/transport/transport.h"
#include "tools/casync/codecs_option.h"
#include "tools/casync/device_check.h"
#include "tools/casync/exit_code.h"
#include "tools/casync/output_file.h"
#include "tools/casync/print_json.h"
#include "tools/casync/profile/measure.h"
#include "tools/casync/profile/processors.h"
#include "tools/casync/subcommands.h"
#include "tools/casync/this_machine.h"
#include "tools/casync/version.h"

namespace casync::tools {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  ProfileOptions profile;
  std::string output, name;
  bool json = false;
};

constexpr double kFarOff = 0.05;    ///< mean distance of a curve from its measurements that is worth a line
constexpr double kUsable = 0.15;    ///< mean distance above which a profile should be measured again
constexpr double kScattered = 0.5;  ///< the same of measurements with a training, which scatter more

/// Refuses unknown codecs and parameters ahead of all measuring. Returns the number of codecs that are measured
/// with a training, too.
Result<int> check_codecs(const std::vector<std::string>& names) {
  int with_training = 0;
  for (const std::string& name : names) {
    const Result<CodecChoice> choice = parse_codec_choice(name);
    CASYNC_RETURN_IF_ERROR(choice.status());
    if (compll::has_rounds(choice->name)) {
      CASYNC_RETURN_IF_ERROR(compll::make_rounds_codec(choice->name, choice->parameters).status());
      continue;
    }
    const auto codec = compll::make_codec(choice->name, choice->parameters);
    CASYNC_RETURN_IF_ERROR(codec.status());
    if (!(*codec)->info().identity) ++with_training;
  }
  return with_training;
}

/// Prints each part of the measurement with its number, and the time that the rest may take.
class Progress {
 public:
  explicit Progress(int parts) : parts_(parts) {}

  void operator()(const std::string& what) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    parts_ = std::max(parts_, ++part_);
    std::fprintf(stderr, "casync profile: %d of %d: %s", part_, parts_, what.c_str());
    // The first parts say too little about the others.
    if (part_ > 4)
      std::fprintf(stderr, " (about %.0f s left)", std::ceil(seconds / (part_ - 1) * (parts_ - part_ + 1)));
    std::fprintf(stderr, "\n");
  }

 private:
  int parts_, part_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// One sentence: the profile can be used as it is, or what should be measured again.
std::string verdict(const MeasuredProfile& measured) {
  const Measured *worst = nullptr, *scattered = nullptr;
  double sum = 0;
  int curves = 0;
  for (const Measured& raw : measured.raw) {
    const bool with_training = raw.what.starts_with("contended ");
    const Measured*& most = with_training ? scattered : worst;
    if (most == nullptr || raw.mean > most->mean) most = &raw;
    if (!with_training && raw.worst > 0) sum += raw.mean, ++curves;
  }
  char text[400];
  if (worst != nullptr && worst->mean > kUsable) {
    std::snprintf(
        text, sizeof text,
        "Measure again on an idle machine: `%s` is off by %.0f %% on average, so plans from this profile may be "
        "wrong.",
        worst->what.c_str(), 100 * worst->mean);
  } else {
    std::snprintf(
        text, sizeof text, "The profile is usable: its curves are off by %.1f %% on average%s.",
        curves > 0 ? 100 * sum / curves : 0,
        scattered != nullptr && scattered->mean > kScattered
            ? "; the cost of training and codecs to each other scatters, so expect larger errors where training "
              "shares its processors"
            : "");
  }
  return text;
}

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
  Json json{{"profile", text}, {"verdict", verdict(measured)}, {"notes", measured.notes}, {"measured", Json::array()}};
  for (const Measured& raw : measured.raw) {
    Json points = Json::array();
    for (const Curve::Point& point : raw.points) points.push_back({point.size, point.seconds});
    json["measured"].push_back({{"what", raw.what}, {"worst", raw.worst}, {"mean", raw.mean}, {"points", points}});
  }
  return json;
}

Status profile(Options options, const runtime::Launch& launch) {
  if (options.profile.codecs.empty())
    options.profile.codecs = {"none", "bf16", "fp16", "fp8_e4m3", "int8", "int4", "onebit"};
  const Result<int> with_training = check_codecs(options.profile.codecs);
  CASYNC_RETURN_IF_ERROR(with_training.status());
  for (const std::string& transport : {options.profile.inside, options.profile.between}) {
    CASYNC_RETURN_IF_ERROR(runtime::check_joins_processes(transport));
  }
  if (launch.rank == 0) {
    CASYNC_RETURN_IF_ERROR(check_writable(options.output));
    // Ahead of the links, which take longest.
    if (!options.profile.device.empty()) CASYNC_RETURN_IF_ERROR(check_device(options.profile.device));
  }
  // Tasks and links over two transports, memory, and each codec once alone and once with a training; on a GPU its
  // copies and launches, and each codec once.
  const int codecs = static_cast<int>(options.profile.codecs.size());
  const auto progress =
      std::make_shared<Progress>(options.profile.device.empty() ? 5 + codecs + *with_training : 7 + codecs);
  options.profile.progress = [progress](const std::string& what) { (*progress)(what); };
  options.profile.processors = usable_processors();
  if (launch.rank == 0) {
    // While there are no threads yet, and the other ranks wait for this one to join.
    for (const auto& [transport, steps] : {std::pair(options.profile.inside, &options.profile.tiny_inside),
                                           std::pair(options.profile.between, &options.profile.tiny_between)}) {
      options.profile.progress("tasks: steps of tiny gradients over " + transport);
      Result<TinySteps> measured = measure_tiny_steps({transport, options.profile.quick ? 0.05 : 0.4});
      if (!measured) return measured.status();
      *steps = std::move(*measured);
    }
  }
  std::unique_ptr<ProfileJob> job;
  if (launch.ranks > 1) {
    Result<std::unique_ptr<ProfileJob>> joined = ProfileJob::join(launch);
    if (!joined) return joined.status();
    job = std::move(*joined);
    options.profile.job = job.get();
    if (job->rank() != 0) options.profile.progress = [](const std::string&) {};
  }
  Result<MeasuredProfile> measured = measure_profile(options.profile);
  if (!measured) return measured.status();
  if (launch.rank != 0) return Status::ok();
  measured->profile.name = options.name.empty() ? "this machine" : options.name;
  measured->profile.source = std::string("casync profile ") + kVersion + "; " + machine();
  Result<std::string> text = text_of_profile(measured->profile);
  if (!text) return text.status();
  *text += raw_comments(*measured);
  if (!options.output.empty()) CASYNC_RETURN_IF_ERROR(write_output(options.output, *text));
  if (options.json) {
    print_json(json_of(*measured, *text));
  } else if (options.output.empty()) {
    std::printf("%s", text->c_str());
  } else {
    for (const std::string& note : measured->notes) std::printf("%s\n", note.c_str());
    for (const Measured& raw : measured->raw) {
      if (raw.mean > kFarOff)
        std::printf("  %-64s off by %4.1f %% at most, %4.1f %% on average\n", raw.what.c_str(), 100 * raw.worst,
                    100 * raw.mean);
    }
    std::printf("%s\n", verdict(*measured).c_str());
  }
  return Status::ok();
}

}  // namespace

void add_profile(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("profile", "Measure the costs of links and codecs here, for plan and simulate");
  command->footer(
      "Under a launcher, as in `casync run -n 2 -- casync profile`, links are those between its ranks; rank 0 prints.");
  command->add_option("-o,--output", options->output, "Write the profile there (default: stdout)");
  add_codecs_option(*command, options->profile.codecs,
                    "Codecs to measure, as in int8,int4:block=64 (default: the common ones)");
  command->add_option("--between", options->profile.between, "Transport that is measured as the link between nodes")
      ->capture_default_str();
  command->add_option("--inside", options->profile.inside, "Transport that is measured as the link inside a node")
      ->capture_default_str();
  command->add_option("--device", options->profile.device,
                      "Measure codecs on cpu, or on this GPU: cuda or cuda:1 (default: cpu)");
  command
      ->add_option("--largest", options->profile.largest,
                   "Number of elements of the largest partition that is measured")
      ->capture_default_str()
      ->check(CLI::Range(1024, 1 << 28));
  command->add_option("--name", options->name, "Name of the profile");
  command->add_flag("--quick", options->profile.quick, "Measure fewer sizes, for a shorter time each");
  command->add_flag("--json", options->json, "Print the profile with all measured points as a JSON object");
  command->callback([=, &invocation] {
    if (options->profile.device == "cpu") options->profile.device.clear();
    const Result<runtime::Launch> launch = runtime::read_launch({}, foreign_env_text);
    const Status status = launch ? profile(*options, *launch) : launch.status();
    const bool is_rank = launch.is_ok();
    invocation.exit_code =
        status.is_ok() ? kExitOk
                       : fail_on_rank("profile", status, is_rank ? launch->rank : 0, is_rank ? launch->local_rank : 0);
  });
}

}  // namespace casync::tools
