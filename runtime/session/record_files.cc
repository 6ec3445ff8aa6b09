// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/record_files.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>

#include "base/log.h"
#include "casync/planner/model_file.h"
#include "runtime/session/unequal_ranks.h"

namespace casync::runtime {
namespace {

void compare_ranks(const std::string& directory, int ranks, const Pace& own,
                   const std::map<Rank, std::optional<Pace>>& others, Training& training) {
  std::map<Rank, Pace> paces{{0, own}};
  for (const auto& [rank, pace] : others) {
    if (pace) paces[rank] = *pace;
  }
  add_unequal_ranks(paces, training);
  if (!training.slow.empty()) training.source += ", scaled to both passes of the middle rank";
  const std::string without = not_compared(ranks, own, others);
  if (without.empty()) return;
  training.source += "; not compared: " + without;
  log().warn("{}/model.txtpb takes ranks for equal to the others that it cannot compare: {}", directory, without);
}

}  // namespace

void write_model(const std::string& directory, int ranks, const Recorder& recorder,
                 std::span<const GradientSpec> gradients, const std::map<Rank, std::optional<Pace>>& others) {
  std::optional<Training> training = recorder.training(gradients);
  if (!training) return log().warn("nothing is recorded in {}: no step has ended", directory);
  training->name = "recorded";
  training->source = "CASYNC_RECORD of rank 0 of " + std::to_string(ranks) + ", medians of up to 31 of " +
                     std::to_string(recorder.steps()) + " steps";
  compare_ranks(directory, ranks, *recorder.pace(), others, *training);
  const Result<std::string> text = text_of_model(*training);
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  const std::string path = directory + "/model.txtpb";
  std::ofstream file;
  if (text) {
    file.open(path, std::ios::binary);
    file << *text;
    file.close();
  }
  if (!text || !file)
    log().warn("{}: cannot be written: {}", path, text ? "no such folder, or no right" : text.status().text());
}

void write_samples(const std::string& directory, const Recorder* recorder, std::span<const GradientSpec> gradients,
                   GradientSampler& sampler) {
  const std::optional<Training> training = recorder != nullptr ? recorder->training(gradients) : std::nullopt;
  if (training) {
    std::set<std::string_view> names;
    for (const TrainedGradient& one : training->gradients) names.insert(one.spec.name);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (!names.contains(gradients[i].name)) sampler.forget(i);  // as a barrier's: nobody plans for it
    }
  }
  if (sampler.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  const Status written = sampler.write(directory + "/gradients.safetensors", gradients);
  if (!written) log().warn("{}", written.message());
}

}  // namespace casync::runtime
