// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/plan/inputs.h"
#include "tools/casync/report/measured_run.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "casync/planner/model_file.h"
#include "casync/planner/plan_library.h"
#include "casync/planner/profile_file.h"
#include "tools/casync/check/rounds.h"
#include "tools/casync/check/samples.h"
#include "tools/casync/simulate/prediction.h"

namespace casync::tools {
namespace {

constexpr int kMostRanks = 65536;
constexpr std::uint32_t kMostSteps = 1'000'000'000;  // as plan files have it
constexpr Elements kTried = Elements{1} << 16;

double error_of(const compll::Codec& codec, const std::vector<float>& values) {
  std::vector<std::byte> payload(codec.encoded_bound(values.size()));
  const compll::Encoded encoded = codec.encode(values.data(), values.size(), {}, {}, payload.data());
  std::vector<float> decoded(values.size());
  codec.decode({payload.data(), encoded.size}, values.size(), decoded.data());
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i], difference = decoded[i] - value;
    error += difference * difference;
    norm += value * value;
  }
  return error / norm;
}

/// Those the library has whose every step stands for itself, and that lose at most `max_error`.
Result<std::vector<CodecOffer>> offers_within(double max_error, const Profile& profile) {
  std::vector<CodecOffer> offers;
  std::map<std::string, double> bits;
  for (const std::string& name : compll::codec_names()) {
    const Result<std::unique_ptr<compll::Codec>> codec = compll::make_codec(name);
    if (!codec) return codec.status();
    const compll::CodecInfo& info = (*codec)->info();
    if (info.identity || info.coded_terms || info.has_result || info.rounds > 0) continue;
    const double error = measured_error(**codec);
    if (error <= max_error) offers.push_back({{name, {}}, error});
    bits[name] = info.bits_per_element;
  }
  // Another one that loses no more in no more bits, and nothing measured that could speak for this one.
  const auto is_useless = [&](const CodecOffer& offer) {
    return !profile.codecs.contains(offer.choice.name) &&
           std::any_of(offers.begin(), offers.end(), [&](const CodecOffer& other) {
             const auto cost = [&](const CodecOffer& of) { return std::pair(bits[of.choice.name], of.error); };
             return cost(other).first <= cost(offer).first && cost(other).second <= cost(offer).second &&
                    cost(other) != cost(offer);
           });
  };
  std::vector<CodecOffer> useful;
  std::copy_if(offers.begin(), offers.end(), std::back_inserter(useful),
               [&](const CodecOffer& offer) { return !is_useless(offer); });
  return useful;
}

Result<std::vector<CodecOffer>> offers_of(const std::vector<std::string>& names) {
  std::vector<CodecOffer> offers;
  for (const std::string& name : names) {
    Result<CodecChoice> choice = parse_codec_choice(name);
    if (!choice) return choice.status();
    if (compll::has_rounds(choice->name)) {
      const auto codec = compll::make_rounds_codec(choice->name, choice->parameters);
      if (!codec) return codec.status();
      offers.push_back({std::move(*choice), measure_rounds(**codec, 0).first});
      continue;
    }
    const Result<std::unique_ptr<compll::Codec>> codec = compll::make_codec(choice->name, choice->parameters);
    if (!codec) return codec.status();
    if ((*codec)->info().identity) continue;  // what is allowed always
    offers.push_back({std::move(*choice), measured_error(**codec)});
  }
  return offers;
}

Status take_description(const PlanInputs& inputs, PlanRequest& request) {
  Result<Training> training = read_model_file(inputs.model);
  if (!training) return training.status();
  request.training = std::move(*training);
  request.topology = place(inputs.ranks, inputs.nodes);
  return Status::ok();
}

/// Ranks and training as they ran, and the profile as it was there.
Status take_run(const std::string& path, ReadInputs& read) {
  const Result<TraceFolder> folder = read_trace_folder(path);
  if (!folder) return folder.status();
  Result<MeasuredRun> run = measured_run(*folder);
  if (!run) return run.status();
  Result<Correction> correction = corrected(*run, read.request.profile);
  if (!correction) return correction.status();
  for (const std::string& change : correction->changes) read.remarks.push_back(path + ": " + change);
  read.request.profile = std::move(correction->profile);
  read.request.topology = run->scenario.topology;
  read.request.training = std::move(run->scenario.training);
  return Status::ok();
}

}  // namespace

void add_plan_inputs(CLI::App& command, PlanInputs& inputs) {
  command.add_option("--profile", inputs.profile, "What machines and links cost (casync profile, examples/profiles)");
  command.add_option("--model", inputs.model, "Gradients and when they are ready and needed (examples/models)");
  command.add_option("-n,--ranks", inputs.ranks, "How many ranks")->check(CLI::Range(1, kMostRanks));
  command.add_option("--nodes", inputs.nodes, "How many nodes they share (default: each has its own)")
      ->check(CLI::Range(1, kMostRanks));
  CLI::Option* codecs =
      command.add_option("--codecs", inputs.codecs, "Codecs that may be used, as int8,int4:block=64")->delimiter(',');
  command
      .add_option(
          "--max-error", inputs.max_error,
          "Else all codecs whose squared error over squared values is at most this, on Gaussian values and heavy tails")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str()
      ->excludes(codecs);
  CLI::Option* local = command
                           .add_option("--local-sgd", inputs.mode.every,
                                       "Exchange parameters' differences once in so many steps instead of gradients")
                           ->check(CLI::Range(1u, kMostSteps));
  command.add_option("--from-step", inputs.mode.from_step, "Exchange gradients in each step before this one")
      ->check(CLI::Range(0u, kMostSteps))
      ->needs(local);
  command.add_option("--staleness", inputs.mode.staleness, "Apply results so many steps later (1)")
      ->check(CLI::Range(0, 1))
      ->excludes(local);
}

std::string digest_of_file(const std::string& text) {
  std::uint64_t digest = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return compll::text_of_digest(digest);
}

double measured_error(const compll::Codec& codec) {
  return std::max(error_of(codec, gaussian_sample(kTried, 1)), error_of(codec, heavy_sample(kTried, 2)));
}

Result<ReadInputs> read_plan_inputs(const PlanInputs& inputs) {
  ReadInputs read;
  PlanRequest& request = read.request;
  Result<Profile> profile = read_profile_file(inputs.profile);
  if (!profile) return profile.status();
  request.profile = std::move(*profile);
  const Result<std::string> text = text_of_input("profile file", inputs.profile);
  if (!text) return text.status();
  read.profile_digest = digest_of_file(*text);
  CASYNC_RETURN_IF_ERROR(inputs.run.empty() ? take_description(inputs, request) : take_run(inputs.run, read));
  Result<std::vector<CodecOffer>> codecs =
      inputs.codecs.empty() ? offers_within(inputs.max_error, request.profile) : offers_of(inputs.codecs);
  if (!codecs) return codecs.status();
  request.codecs = std::move(*codecs);
  request.facts_of = facts_of;
  request.warm_up_steps = inputs.warm_up_steps;
  request.mode = inputs.mode;
  return read;
}

}  // namespace casync::tools
