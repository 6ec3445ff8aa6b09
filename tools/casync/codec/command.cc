// SPDX-License-Identifier: Apache-2.0
// casync codec: lists the codecs known here with their declarations, and checks a file's codec against its own.
#include <cmath>
#include <cstdio>
#include <memory>
#include <span>

#include "casync/model/codec_choice.h"
#include "casync/planner/loss_table.h"
#include "compll/codec/codec_json.h"
#include "compll/codec/registry.h"
#include "compll/codec/rounds_codec.h"
#include "tools/casync/codec/codec_check.h"
#include "tools/casync/exit_code.h"
#include "tools/casync/number_within.h"
#include "tools/casync/print_json.h"
#include "tools/casync/subcommands.h"

namespace casync::tools {
namespace {

using Json = nlohmann::ordered_json;
using compll::CodecInfo;
using compll::json_of;

const char* yes_no(bool value) { return value ? "yes" : "no"; }

void print(const CodecInfo& info) {
  std::printf("%s: %s\n", info.name.c_str(), info.summary.c_str());
  std::printf("  published in        %s\n", info.source.c_str());
  std::printf("  bits per element    %.4g (%.4g times smaller than float32)\n", info.bits_per_element,
              32 / info.bits_per_element);
  if (info.rounds != 0) {
    std::printf("  exchanges           %u within a step; the bits are those of a matrix of 1024 x 1024\n", info.rounds);
  } else {
    std::printf("  block               %zu elements share statistics\n", info.block);
    std::printf("  error feedback      %s\n", yes_no(info.feedback));
    std::printf("  merging             %s\n",
                !compll::check_no_patch(info.name).is_ok()
                    ? "is refused: it encodes differences between versions of one rank's weights"
                : info.votes       ? "counts the codes of all ranks; a rank's elements never take part"
                : info.coded_terms ? "decodes and adds the codes of all ranks, which keep more than a residual"
                : info.exact_merge ? "is exact: encoding a sum again loses nothing"
                                   : "loses as one encoding does, with the strategies ring and tree at each hop");
  }
  std::printf("  contractive         %s\n", yes_no(info.contractive));
  std::printf("  on the wire         codec number %u, payload version %u\n", info.number, info.version);
  if (info.digest != 0) std::printf("  program             %s\n", compll::text_of_digest(info.digest).c_str());
  for (std::size_t i = 0; i < info.parameters.size(); ++i) {
    const compll::CodecParameter& parameter = info.parameters[i];
    std::printf("  parameter %-9s %g, ", parameter.name.c_str(), info.values[i]);
    if (parameter.least < parameter.most) {
      std::printf("from %g to %g: ", parameter.least, parameter.most);
    } else {
      std::printf("others are compiled when they are asked for: ");  // types are made of it
    }
    std::printf("%s\n", parameter.meaning.c_str());
  }
}

/// The declaration of a codec of either kind.
Result<CodecInfo> info_of(const std::string& name, std::span<const std::pair<std::string, double>> parameters = {}) {
  if (compll::has_rounds(name)) {
    const auto codec = compll::make_rounds_codec(name, parameters);
    if (!codec) return codec.status();
    return (*codec)->info();
  }
  const auto codec = compll::make_codec(name, parameters);
  if (!codec) return codec.status();
  return (*codec)->info();
}

/// The steps to the same loss as a multiple of those without compression, "?" if no training has used the codec.
std::string steps_of(const std::string& name) {
  const std::optional<double> more = more_steps(CodecChoice{name, {}}, CodecChoice{name, {}});
  if (name != "none" && !more) return "?";
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", 1 + (name == "none" ? 0 : *more));
  return std::isfinite(more.value_or(0)) ? text : "?";
}

void print_heading() {
  std::printf(
      "# bits: of an element on the wire. feedback: what a code leaves out is added to the next step;\n"
      "# own: the codec has memory of another kind.\n"
      "# steps: those to the same loss, times those of none, by our trainings (?: none). Begin with int8 or int4.\n"
      "# Their speeds on this machine: casync bench codec\n"
      "# %-16s %7s %8s %6s  %s\n",
      "codec", "bits", "feedback", "steps", "what it sends");
}

void print_line(const CodecInfo& info) {
  const char* const feedback = !info.feedback && info.states != 0 ? "own" : yes_no(info.feedback);
  std::printf("%-18s %7.3g %8s %6s  %s\n", info.name.c_str(), info.bits_per_element, feedback,
              steps_of(info.name).c_str(), info.summary.c_str());
}

int list(bool as_json) {
  Json all = Json::array();
  std::vector<std::string> names = compll::codec_names();
  for (const auto& kind : {compll::rounds_codec_names(), compll::patch_names()}) {
    names.insert(names.end(), kind.begin(), kind.end());
  }
  if (!as_json) print_heading();
  for (const std::string& name : names) {
    const Result<CodecInfo> info = info_of(name);
    if (!info) return fail("codec", info.status());
    if (!as_json) print_line(*info);
    all.push_back(json_of(*info));
  }
  if (as_json) print_json(all);
  return kExitOk;
}

Result<CodecChoice> choice_of(const std::string& name, const std::vector<std::string>& settings) {
  std::string text = name;
  for (const std::string& setting : settings) text += (&setting == &settings.front() ? ":" : ",") + setting;
  return parse_codec_choice(text);
}

CodecCheck::Device device_from(const std::string& name) {
  using Device = CodecCheck::Device;
  return name == "cpu" ? Device::kCpu : name == "cuda" ? Device::kCuda : name == "all" ? Device::kAll : Device::kAuto;
}

int check(CodecCheck wanted, const std::vector<std::string>& settings) {
  const Result<CodecChoice> choice = choice_of(wanted.file, settings);
  if (!choice) return fail("codec", choice.status());
  wanted.file = choice->name;
  wanted.parameters = choice->parameters;
  bool holds = false;
  const Status status = check_codec_file(wanted, &holds);
  if (!status) return fail("codec", status);
  return holds ? kExitOk : kExitFailure;
}

int show(const std::string& name, const std::vector<std::string>& settings, bool as_json) {
  const Result<CodecChoice> choice = choice_of(name, settings);
  if (!choice) return fail("codec", choice.status());
  const Result<CodecInfo> info = info_of(choice->name, choice->parameters);
  if (!info) return fail("codec", info.status());
  if (as_json) {
    print_json(json_of(*info));
  } else {
    print(*info);
  }
  return kExitOk;
}

}  // namespace

void add_codec(CLI::App& app, Invocation& invocation) {
  auto json = std::make_shared<bool>(false);
  auto name = std::make_shared<std::string>();
  auto settings = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("codec", "List codecs, describe one, or check your own");
  command->require_subcommand(1);
  CLI::App* all = command->add_subcommand("list", "List all codecs, one a line");
  all->add_flag("--json", *json, "Print all declarations as a JSON array");
  all->callback([=, &invocation] { invocation.exit_code = list(*json); });
  CLI::App* one =
      command->add_subcommand("info", "Print the declarations of one codec, for given values of its parameters");
  one->add_option("name", *name, "Name of a codec, or a program's file (mine.cll)")->required();
  one->add_option("setting", *settings, "PARAMETER=VALUE; the others take their defaults");
  one->add_flag("--json", *json, "Print a JSON object");
  one->callback([=, &invocation] { invocation.exit_code = show(*name, *settings, *json); });
  auto wanted = std::make_shared<CodecCheck>();
  wanted->seconds = 0.2;
  CLI::App* tried = command->add_subcommand("check", "Compile a codec's file, test its properties and measure it");
  tried->add_option("file", wanted->file, "File of the program (docs/language.md)")->required();
  tried->add_option("--param", *settings, "PARAMETER=VALUE; the others take their defaults");
  tried->add_option("--seconds", wanted->seconds, "Seconds of each measurement of speed; 0 leaves all of them out")
      ->check(number_within(0.0, 60.0))
      ->capture_default_str();
  auto device = std::make_shared<std::string>("auto");
  tried
      ->add_option("--device", *device,
                   "Test on cpu, cuda or all; auto: on the CPU, and on a GPU if this machine has one")
      ->check(CLI::IsMember({"auto", "cpu", "cuda", "all"}))
      ->capture_default_str();
  tried->add_flag("--json", wanted->as_json, "Print a JSON object");
  tried->callback([=, &invocation] {
    wanted->device = device_from(*device);
    invocation.exit_code = check(*wanted, *settings);
  });
}

}  // namespace casync::tools
