// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/codec_check.h"

#include <chrono>
#include <cstdio>
#include <memory>

#include "compll/codec/generated_codec.h"
#include "compll/codec/rounds_generated.h"
#include "compll/interpreter/program_codec.h"
#include "compll/interpreter/rounds_program.h"
#include "compll/load/compiled_text.h"
#include "compll/load/file_program.h"
#include "compll/load/file_text.h"
#include "tools/casync/check/report.h"
#include "tools/casync/check/rounds.h"

namespace casync::tools {
namespace {

using Clock = std::chrono::steady_clock;
using compll::Codec;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

using Parameters = std::vector<std::pair<std::string, double>>;

Result<compll::CompiledCodec> compiled_codec(const std::string& path, const compll::FileProgram& read, Making& making) {
  const auto begin = Clock::now();
  Result<compll::CompiledCodec> made = compll::compiled(read.codec);
  if (!made) return Status(made.status().code(), path + ": " + made.status().message());
  making.compiled_seconds = seconds_since(begin);
  making.built = made->built;
  return made;
}

struct Wanted {
  double seconds = 0;
  bool as_json = false;
};

/// A codec that exchanges within a step.
Status check_rounds(const std::string& path, const compll::FileProgram& read, const Parameters& parameters,
                    Making making, Wanted wanted, bool* holds) {
  const auto meaning = compll::make_rounds_program(read.program, parameters);
  if (!meaning) return meaning.status();
  std::unique_ptr<compll::RoundsCodec> generated;
  if (making.why_interpreted.empty()) {
    const Result<compll::CompiledCodec> made = compiled_codec(path, read, making);
    if (!made) return made.status();
    auto codec = compll::make_generated_rounds(*made->codec, parameters, read.program->declares.digest);
    if (!codec) return codec.status();
    generated = std::move(*codec);
  } else {
    wanted.seconds = 0;
  }
  const CheckedRounds checked{generated ? *generated : **meaning, generated ? meaning->get() : nullptr, *read.program};
  const std::vector<Verdict> verdicts = check_rounds_properties(checked);
  const RoundsFigures figures = measure_rounds(checked.codec, wanted.seconds);
  *holds = all_hold(verdicts);
  if (wanted.as_json) {
    std::printf("%s\n", rounds_check_json(checked.codec.info(), making, verdicts, figures).dump(2).c_str());
  } else {
    print_rounds_check(checked.codec.info(), making, verdicts, figures);
  }
  return Status::ok();
}

}  // namespace

Status check_codec_file(const std::string& path, const std::vector<std::pair<std::string, double>>& parameters,
                        double seconds, bool as_json, bool* holds) {
  Making making;
  const auto begin = Clock::now();
  const Result<std::string> text = compll::file_text(path, compll::kMostSource);
  if (!text) return text.status();
  const Result<compll::FileProgram> read = compll::read_program(path, *text, parameters);
  if (!read) return read.status();
  making.text_seconds = seconds_since(begin);
  making.why_interpreted = read->why_interpreted;
  if (read->program->synchronize) return check_rounds(path, *read, parameters, making, {seconds, as_json}, holds);
  Result<std::unique_ptr<Codec>> meaning = compll::make_program_codec(read->program, parameters);
  if (!meaning) return meaning.status();
  std::unique_ptr<Codec> compiled;
  if (making.why_interpreted.empty()) {
    const Result<compll::CompiledCodec> made = compiled_codec(path, *read, making);
    if (!made) return made.status();
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
