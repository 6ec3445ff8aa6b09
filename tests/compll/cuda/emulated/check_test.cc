// SPDX-License-Identifier: Apache-2.0
//
// The suite of `casync codec check` on a GPU that this host emulates, and how its kernels are measured.
#include <cmath>
#include <string>
#include <vector>

#include "tests/compll/cuda/emulated/program.h"
#include "tools/casync/codec/check/cuda_speeds.h"
#include "tools/casync/codec/check/properties.h"
#include "tools/casync/codec/check/report.h"
#include "tools/casync/codec/check/rounds.h"

namespace casync::tools {
namespace {

using compll::emulated::CodecOnDevice;
using compll::emulated::ProgramOnDevice;

std::string failures(const std::vector<Verdict>& verdicts) {
  std::string all;
  for (const Verdict& verdict : verdicts) {
    if (verdict.state == Verdict::State::kFails) all += verdict.property + ": " + verdict.detail + "\n";
  }
  return all;
}

std::string names(const Speeds& speeds) {
  std::string all;
  for (const Speeds::Operation& each : speeds.operations) {
    all += (all.empty() ? "" : ", ") + std::string(each.name);
    CHECK(each.gb_s > 0);
    CHECK(each.bytes_per_element > 0);
  }
  return all;
}

}  // namespace

TEST_CASE("codec check on a GPU: kernels keep what their programs promise") {
  // Casts, blocks, statistics of the tensor with random numbers, states, selection.
  for (const char* name : {"bf16", "int4", "natural", "ecqsgd", "sbc"}) {
    const CodecOnDevice on(name);
    INFO(name);
    CHECK(failures(check_properties({.codec = *on.codec,
                                     .meaning = on.meaning.get(),
                                     .contractive = on.program->declares.contractive,
                                     .unbiased = on.program->declares.unbiased})) == "");
    CHECK_FALSE(on.codec->wrote_outside());
    CHECK(on.device->status().is_ok());
  }
}

TEST_CASE("codec check on a GPU: an error of the driver breaks properties, and stays to be reported") {
  const CodecOnDevice on("int4");
  compll::emulated::break_device();
  const std::string found = failures(check_properties({.codec = *on.codec, .meaning = on.meaning.get()}));
  compll::emulated::mend_device();
  CHECK_THAT(found, Catch::Contains("the bytes are the interpreter's"));
  CHECK_FALSE(on.device->status().is_ok());
}

TEST_CASE("codec check on a GPU: encode, decode and merge are measured, of every kind of codec") {
  for (const char* name : {"bf16", "terngrad", "topk", "dgc", "diana"}) {
    const CodecOnDevice on(name);
    INFO(name);
    const Speeds speeds = measure_on_cuda(*on.codec, *on.device, 1e-3, 9001);
    CHECK(names(speeds) == "encode, decode, merge of 4");
    CHECK((speeds.copy_gb_s > 0 && std::isfinite(speeds.copy_gb_s)));  // by the driver's events
    CHECK(on.device->status().is_ok());
  }
  ProgramOnDevice on("powersgd");
  const auto meaning = compll::make_rounds_program(on.program);
  const auto codec = compll::make_cuda_rounds(*on.device, on.modules(), *on.text, **meaning);
  REQUIRE(codec.is_ok());
  const Speeds speeds = measure_on_cuda(**codec, *on.device, 1e-3, 64);
  CHECK(names(speeds) == "step");
  CHECK(speeds.operations[0].bytes_per_element > 16);
}

TEST_CASE("codec check on a GPU: the report has a part for it, or says why not") {
  Figures figures;
  figures.bits = 4;
  Report report;
  report.info.name = "mine";
  report.cpu = Part{{}, {{"small", Verdict::State::kHolds, ""}}, figures};
  CHECK(holds(report));
  CHECK_FALSE(json_of(report).contains("cuda"));
  report.why_not_cuda = "no driver";
  CHECK(json_of(report)["cuda"]["not_tried"] == "no driver");
  CHECK(holds(report));
  report.why_not_cuda = "";
  report.cuda = Part{{}, {{"small", Verdict::State::kFails, "large"}}, figures};
  report.cuda->making.device = "a GPU";
  CHECK_FALSE(holds(report));
  const auto json = json_of(report);
  CHECK(json["cuda"]["device"] == "a GPU");
  CHECK(json["cuda"]["holds"] == false);
  CHECK(json["holds"] == false);
  CHECK(json["ratio"] == 8);
}

}  // namespace casync::tools
