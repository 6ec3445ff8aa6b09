// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/check/report.h"

#include <cstdio>

#include "compll/codec/codec_json.h"
#include "tools/casync/check/samples.h"
#include "tools/casync/check/trial.h"

namespace casync::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr Elements kErrorElements = Elements{1} << 16;

const char* word_for(Verdict::State state) {
  switch (state) {
    case Verdict::State::kHolds: return "holds";
    case Verdict::State::kNote: return "note";
    case Verdict::State::kFails: return "FAILS";
  }
  return "?";
}

double relative_error(const compll::Codec& codec, const std::vector<float>& x) {
  const std::vector<float> decoded = decode(codec, encode(codec, x), x.size());
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double difference = static_cast<double>(decoded[i]) - x[i];
    error += difference * difference;
    norm += static_cast<double>(x[i]) * x[i];
  }
  return error / norm;
}

struct Operation {
  const char* name;
  const OperationTime* time;
};

std::vector<Operation> operations(const CodecBenchResult& speed) {
  return {{"encode", &speed.encode}, {"decode", &speed.decode}, {"merge of 4", &speed.merge}};
}

void print_speed(const Figures& figures) {
  const CodecBenchResult& speed = *figures.speed;
  std::printf("\n  %-12s %12s %14s %8s %9s\n", "on one core", "bytes/el", "as a copy of", "GB/s", "of copy");
  for (const Operation& operation : operations(speed)) {
    const double rate = gigabytes_per_second(*operation.time, speed.options.total);
    std::printf("  %-12s %12.2f %14.2f %8.2f %8.0f%%\n", operation.name, operation.time->bytes_per_element,
                operation.time->bytes_per_element * figures.copy_gb_s / rate, rate, 100 * rate / figures.copy_gb_s);
  }
  std::printf("  bytes/el: what has to be read and written; as a copy of: what a copy moves meanwhile, at %.1f GB/s\n",
              figures.copy_gb_s);
}

}  // namespace

Figures measure_figures(const compll::Codec& codec, double seconds) {
  Figures figures;
  const Elements many = Elements{1} << 24;
  figures.bits = 8 * static_cast<double>(codec.encoded_bound(many)) / static_cast<double>(many);
  figures.gaussian = relative_error(codec, gaussian_sample(kErrorElements, 1));
  figures.heavy_tails = relative_error(codec, heavy_sample(kErrorElements, 2));
  if (seconds <= 0) return figures;
  CodecBenchOptions options;
  options.partition = Elements{1} << 20;
  options.total = Elements{1} << 24;
  options.seconds = seconds;
  figures.copy_gb_s = gigabytes_per_second(measure_copy(options), options.total);
  figures.speed = measure_codec(codec, options);
  return figures;
}

void print_verdicts(const compll::CodecInfo& info, const Making& making, const std::vector<Verdict>& verdicts) {
  std::printf("%s: %s\n", info.name.c_str(), info.summary.c_str());
  std::printf("  program %s, number %u on the wire\n", compll::text_of_digest(info.digest).c_str(), info.number);
  if (making.why_interpreted.empty()) {
    std::printf("  C++ text in %.1f ms, %s in %.1f ms\n", 1e3 * making.text_seconds,
                making.built ? "compiled" : "found compiled", 1e3 * making.compiled_seconds);
  } else {
    std::printf("  interpreted, which is slow: %s\n", making.why_interpreted.c_str());
  }
  std::printf("\n");
  for (const Verdict& verdict : verdicts) {
    std::printf("  %-6s %s\n", word_for(verdict.state), verdict.property.c_str());
    if (!verdict.detail.empty()) std::printf("         %s\n", verdict.detail.c_str());
  }
}

void print_check(const compll::CodecInfo& info, const Making& making, const std::vector<Verdict>& verdicts,
                 const Figures& figures) {
  print_verdicts(info, making, verdicts);
  std::printf("\n  sent   %.4g bits an element, %.4g times less than float32\n", figures.bits, 32 / figures.bits);
  std::printf("  error  %.3g of Gaussian gradients, %.3g of heavy tails (||D(E(x)) - x||^2 / ||x||^2)\n",
              figures.gaussian, figures.heavy_tails);
  if (figures.speed) print_speed(figures);
}

Json verdicts_json(const compll::CodecInfo& info, const Making& making, const std::vector<Verdict>& verdicts) {
  Json json{{"codec", compll::json_of(info)}, {"holds", all_hold(verdicts)}};
  json["text_ms"] = 1e3 * making.text_seconds;
  if (making.why_interpreted.empty()) {
    json[making.built ? "compiled_ms" : "found_compiled_ms"] = 1e3 * making.compiled_seconds;
  } else {
    json["interpreted"] = making.why_interpreted;
  }
  json["properties"] = Json::array();
  for (const Verdict& verdict : verdicts) {
    json["properties"].push_back(
        {{"property", verdict.property}, {"state", word_for(verdict.state)}, {"detail", verdict.detail}});
  }
  return json;
}

Json check_json(const compll::CodecInfo& info, const Making& making, const std::vector<Verdict>& verdicts,
                const Figures& figures) {
  Json json = verdicts_json(info, making, verdicts);
  json["bits_per_element"] = figures.bits;
  json["ratio"] = 32 / figures.bits;
  json["error"] = {{"gaussian", figures.gaussian}, {"heavy_tails", figures.heavy_tails}};
  if (!figures.speed) return json;
  json["copy_gb_s"] = figures.copy_gb_s;
  for (const Operation& operation : operations(*figures.speed)) {
    const double rate = gigabytes_per_second(*operation.time, figures.speed->options.total);
    json["speed"][operation.name] = {{"bytes_per_element", operation.time->bytes_per_element},
                                     {"gb_s", rate},
                                     {"of_copy", rate / figures.copy_gb_s}};
  }
  return json;
}

}  // namespace casync::tools
