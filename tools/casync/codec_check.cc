// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/codec_check.h"

#include <chrono>
#include <cstdio>
#include <memory>

#include "compll/codec/generated_codec.h"
#include "compll/interpreter/program_codec.h"
#include "compll/load/compiled_text.h"
#include "compll/load/file_program.h"
#include "compll/load/file_text.h"
#include "tools/casync/check/report.h"

namespace casync::tools {
namespace {

using Clock = std::chrono::steady_clock;
using compll::Codec;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

}  // namespace

Status check_codec_file(const std::string& path, const std::vector<std::pair<std::string, double>>& parameters,
                        double seconds, bool as_json, bool* holds) {
  Making making;
  auto begin = Clock::now();
  const Result<std::string> text = compll::file_text(path, compll::kMostSource);
  if (!text) return text.status();
  const Result<compll::FileProgram> read = compll::read_program(path, *text, parameters);
  if (!read) return read.status();
  making.text_seconds = seconds_since(begin);
  making.why_interpreted = read->why_interpreted;
  Result<std::unique_ptr<Codec>> meaning = compll::make_program_codec(read->program, parameters);
  if (!meaning) return meaning.status();
  std::unique_ptr<Codec> compiled;
  if (making.why_interpreted.empty()) {
    begin = Clock::now();
    const Result<compll::CompiledCodec> made = compll::compiled(read->codec);
    if (!made) return Status(made.status().code(), path + ": " + made.status().message());
    making.compiled_seconds = seconds_since(begin);
    making.built = made->built;
    Result<std::unique_ptr<Codec>> codec =
        compll::make_generated_codec(*made->codec, parameters, read->program->declares.digest);
    if (!codec) return codec.status();
    compiled = std::move(*codec);
  } else {
    seconds = 0;  // how slow an interpreter is says nothing about the codec
  }
  const compll::Declarations& declares = read->program->declares;
  const Checked checked{.codec = compiled ? *compiled : **meaning,
                        .meaning = compiled ? meaning->get() : nullptr,
                        .contractive = declares.contractive,
                        .unbiased = declares.unbiased};
  const std::vector<Verdict> verdicts = check_properties(checked);
  const Figures figures = measure_figures(checked.codec, seconds);
  *holds = all_hold(verdicts);
  if (as_json) {
    std::printf("%s\n", check_json(checked.codec.info(), making, verdicts, figures).dump(2).c_str());
  } else {
    print_check(checked.codec.info(), making, verdicts, figures);
  }
  return Status::ok();
}

}  // namespace casync::tools
