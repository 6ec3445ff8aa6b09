// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/codec/check/report.h"

#include <cstdio>

#include "compll/codec/codec_json.h"

namespace casync::tools {
namespace {

using Json = nlohmann::ordered_json;

const char* word_for(Verdict::State state) {
  switch (state) {
    case Verdict::State::kHolds: return "holds";
    case Verdict::State::kNote: return "note";
    case Verdict::State::kFails: return "FAILS";
  }
  return "?";
}

void print(const Making& making) {
  const char* language = making.device.empty() ? "C++" : "CUDA C++";
  if (!making.device.empty()) std::printf("\n  on %s\n", making.device.c_str());
  if (making.why_interpreted.empty()) {
    std::printf("  %s text in %.1f ms, %s%s in %.1f ms\n", language, 1e3 * making.text_seconds,
                making.built ? "compiled" : "found compiled",
                making.compiler.empty() ? "" : (" by " + making.compiler).c_str(), 1e3 * making.compiled_seconds);
  } else {
    std::printf("  interpreted, which is slow: %s\n", making.why_interpreted.c_str());
  }
}

void print(const std::vector<Verdict>& verdicts) {
  std::printf("\n");
  for (const Verdict& verdict : verdicts) {
    std::printf("  %-6s %s\n", word_for(verdict.state), verdict.property.c_str());
    if (!verdict.detail.empty()) std::printf("         %s\n", verdict.detail.c_str());
  }
}

void print(const Speeds& speeds) {
  if (speeds.operations.empty()) return;
  std::printf("\n  %-13s %8s %9s %9s %14s %8s %9s\n", speeds.where.c_str(), "ns/el", "bytes/el", "for kept",
              "as a copy of", "GB/s", "of copy");
  for (const Speeds::Operation& each : speeds.operations) {
    std::printf("  %-13s %8.3f %9.2f %9.2f %14.2f %8.2f %8.0f%%\n", each.name, Speeds::nanoseconds(each),
                each.bytes_per_element, each.kept_bytes, each.bytes_per_element * speeds.copy_gb_s / each.gb_s,
                each.gb_s, 100 * each.gb_s / speeds.copy_gb_s);
  }
  std::printf(
      "  ns/el: of one element, to compare codecs by; bytes/el: what has to be read and written, of which `for "
      "kept`\n  is residual and states; as a copy of: what a copy moves meanwhile, at %.1f GB/s\n",
      speeds.copy_gb_s);
}

void print(const Figures& figures, const compll::CodecInfo&) {
  std::printf("\n  sent   %.4g bits an element, %.4g times less than float32\n", figures.bits, 32 / figures.bits);
  std::printf("  error  %.3g of Gaussian gradients, %.3g of heavy tails (||D(E(x)) - x||^2 / ||x||^2)\n",
              figures.gaussian, figures.heavy_tails);
  print(figures.speeds);
}

void print(const RoundsFigures& figures, const compll::CodecInfo& info) {
  std::printf("\n  sent   %.4g bits an element of 1024 x 1024, %.4g times less than float32, in %u exchanges\n",
              figures.bits, 32 / figures.bits, info.rounds);
  std::printf("  error  %.3g of Gaussian gradients of 256 x 256, %.3g of the sum of 16 steps\n", figures.first,
              figures.steps16);
  print(figures.speeds);
}

void print(const Part& part, const compll::CodecInfo& info) {
  print(part.making);
  print(part.verdicts);
  std::visit([&](const auto& figures) { print(figures, info); }, part.figures);
}

void put(Json& json, const Speeds& speeds) {
  if (speeds.operations.empty()) return;
  json["copy_gb_s"] = speeds.copy_gb_s;
  for (const Speeds::Operation& each : speeds.operations) {
    json["speed"][each.name] = {{"ns_per_element", Speeds::nanoseconds(each)},
                                {"bytes_per_element", each.bytes_per_element},
                                {"kept_bytes_per_element", each.kept_bytes},
                                {"gb_s", each.gb_s},
                                {"of_copy", each.gb_s / speeds.copy_gb_s}};
  }
}

Json errors_of(const Figures& figures) {
  return {{"gaussian", figures.gaussian}, {"heavy_tails", figures.heavy_tails}};
}
Json errors_of(const RoundsFigures& figures) {
  return {{"first_step", figures.first}, {"sixteen_steps", figures.steps16}};
}

void put(Json& json, const Part& part) {
  const Making& making = part.making;
  if (!making.device.empty()) json["device"] = making.device;
  if (!making.compiler.empty()) json["compiler"] = making.compiler;
  json["text_ms"] = 1e3 * making.text_seconds;
  if (making.why_interpreted.empty()) {
    json[making.built ? "compiled_ms" : "found_compiled_ms"] = 1e3 * making.compiled_seconds;
  } else {
    json["interpreted"] = making.why_interpreted;
  }
  json["properties"] = Json::array();
  for (const Verdict& verdict : part.verdicts) {
    json["properties"].push_back(
        {{"property", verdict.property}, {"state", word_for(verdict.state)}, {"detail", verdict.detail}});
  }
  const auto put_figures = [&](const auto& figures) {
    json["bits_per_element"] = figures.bits;
    json["ratio"] = 32 / figures.bits;
    json["error"] = errors_of(figures);
    put(json, figures.speeds);
  };
  std::visit(put_figures, part.figures);
}

}  // namespace

bool holds(const Report& report) {
  const auto keeps = [](const std::optional<Part>& part) { return !part || all_hold(part->verdicts); };
  return keeps(report.cpu) && keeps(report.cuda);
}

void print(const Report& report) {
  const compll::CodecInfo& info = report.info;
  std::printf("%s: %s\n", info.name.c_str(), info.summary.c_str());
  std::printf("  program %s, number %u on the wire\n", compll::text_of_digest(info.digest).c_str(), info.number);
  if (report.cpu) print(*report.cpu, info);
  if (report.cuda) print(*report.cuda, info);
  if (!report.why_not_cuda.empty()) std::printf("\n  not tried on a GPU: %s\n", report.why_not_cuda.c_str());
}

Json json_of(const Report& report) {
  Json json{{"codec", compll::json_of(report.info)}, {"holds", holds(report)}};
  if (report.cpu) put(json, *report.cpu);
  if (report.cuda) {
    json["cuda"] = {{"holds", all_hold(report.cuda->verdicts)}};
    put(json["cuda"], *report.cuda);
  }
  if (!report.why_not_cuda.empty()) json["cuda"] = {{"not_tried", report.why_not_cuda}};
  return json;
}

}  // namespace casync::tools
