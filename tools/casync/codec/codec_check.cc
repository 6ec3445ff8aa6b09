// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/codec/codec_check.h"

#include <algorithm>
#include <memory>
#include <type_traits>

#include "base/clock.h"
#include "compll/codec/generated_codec.h"
#include "compll/codec/rounds_generated.h"
#include "compll/interpreter/program_codec.h"
#include "compll/interpreter/rounds_program.h"
#include "compll/load/compiled_text.h"
#include "compll/load/file_program.h"
#include "compll/load/file_text.h"
#include "tools/casync/codec/check/on_cuda.h"
#include "tools/casync/codec/check/other_values.h"
#include "tools/casync/codec/check/report.h"
#include "tools/casync/codec/check/rounds.h"
#include "tools/casync/print_json.h"

namespace casync::tools {
namespace {

using compll::Codec;
using compll::FileProgram;
using compll::RoundsCodec;
using Device = CodecCheck::Device;

// A codec of either kind, as its program means it and as it is compiled.
Result<std::unique_ptr<Codec>> compiled_codec(const compll::GeneratedCodec& generated, const CodecCheck& check,
                                              std::uint64_t digest, const Codec&) {
  return compll::make_generated_codec(generated, check.parameters, digest);
}
Result<std::unique_ptr<RoundsCodec>> compiled_codec(const compll::GeneratedCodec& generated, const CodecCheck& check,
                                                    std::uint64_t digest, const RoundsCodec&) {
  return compll::make_generated_rounds(generated, check.parameters, digest);
}

void try_codec(const Codec& codec, const Codec* meaning, const compll::Program& program, double seconds, Part& part) {
  part.verdicts = check_properties({.codec = codec,
                                    .meaning = meaning,
                                    .contractive = program.declares.contractive,
                                    .unbiased = program.declares.unbiased});
  part.figures = measure_figures(codec, seconds);
}
void try_codec(const RoundsCodec& codec, const RoundsCodec* meaning, const compll::Program& program, double seconds,
               Part& part) {
  part.verdicts = check_rounds_properties({codec, meaning, program});
  part.figures = measure_rounds(codec, seconds);
}

/// Compiled with these parameters, as a caller's plan may have them; "" where everything holds, else how it breaks.
/// Values that no range allows may be refused.
std::string broken_with(const compll::Source& source, const ParameterValues& parameters, bool declared) {
  const Result<FileProgram> read = compll::read_program(source, parameters);
  if (!read && !declared) return "";
  if (!read) return read.status().message();
  const auto meaning = compll::make_program_codec(read->program, parameters);
  if (!meaning) return meaning.status().message();
  if (!read->why_interpreted.empty()) return "";
  const Result<compll::CompiledCodec> made = compll::compiled(read->codec);
  if (!made) return made.status().message();
  const auto codec = compll::make_generated_codec(*made->codec, parameters, read->program->declares.digest);
  if (!codec) return codec.status().message();
  return broken_property({.codec = **codec, .meaning = meaning->get()});
}

/// Programs mean something at all values that they declare.
Verdict check_other_values(const CodecCheck& check, const compll::Source& source, const compll::Program& program) {
  Verdict verdict{"", Verdict::State::kHolds, ""};
  std::string tried;
  for (const ParameterValues& parameters : other_parameters(program, check.parameters)) {
    const std::string words = difference_in_words(check.parameters, parameters);
    tried += (tried.empty() ? "" : "; ") + words;
    if (verdict.state == Verdict::State::kFails) continue;
    const auto changed = std::find_if(program.parameters.begin(), program.parameters.end(),
                                      [&](const auto& each) { return each.name == parameters.back().first; });
    const std::string broken = broken_with(source, parameters, has_range(*changed));
    if (broken.empty()) continue;
    verdict.state = Verdict::State::kFails;
    verdict.detail = words + ": " + broken;
  }
  verdict.property = "other values of its parameters keep that, too: " + (tried.empty() ? "there are none" : tried);
  return verdict;
}

template <class Kind>
Result<Part> check_on_cpu(const CodecCheck& check, const compll::Source& source, const FileProgram& read,
                          const Kind& meaning, Part part) {
  part.making.why_interpreted = read.why_interpreted;
  if (!read.why_interpreted.empty()) {
    try_codec(meaning, nullptr, *read.program, 0, part);  // how slow an interpreter is says nothing about the codec
    return part;
  }
  const auto begin = Clock::now();
  const Result<compll::CompiledCodec> made = compll::compiled(read.codec);
  if (!made) return Status(made.status().code(), check.file + ": " + made.status().message());
  part.making.compiled_seconds = seconds_since(begin);
  part.making.built = made->built;
  const auto codec = compiled_codec(*made->codec, check, read.program->declares.digest, meaning);
  if (!codec) return codec.status();
  try_codec(**codec, &meaning, *read.program, check.seconds, part);
  if constexpr (std::is_same_v<Kind, Codec>) {
    part.verdicts.push_back(check_other_values(check, source, *read.program));
  }
  return part;
}

/// Adds the part on a GPU. Without a GPU the report says why, unless one was asked for: then this fails.
template <class Kind>
Status add_cuda(const CodecCheck& check, const compll::Source& source, const FileProgram& read, const Kind& meaning,
                Report& report) {
  Result<Part> part = check_on_cuda(*read.program, source, meaning, check.seconds);
  const StatusCode code = part.status().code();
  if (part) {
    report.cuda = std::move(*part);
  } else if (check.device == Device::kAuto &&
             (code == StatusCode::kUnavailable || code == StatusCode::kUnimplemented)) {
    report.why_not_cuda = part.status().message();
  } else {
    return Status(code, check.file + ": " + part.status().message());
  }
  return Status::ok();
}

template <class Kind>
Status check_codec(const CodecCheck& check, const compll::Source& source, const FileProgram& read,
                   const Result<std::unique_ptr<Kind>>& meaning, const Part& begun, bool* holds) {
  if (!meaning) return meaning.status();
  Report report{(*meaning)->info(), {}, {}, ""};
  if (check.device != Device::kCuda) {
    Result<Part> part = check_on_cpu(check, source, read, **meaning, begun);
    if (!part) return part.status();
    report.cpu = std::move(*part);
  }
  if (check.device != Device::kCpu) CASYNC_RETURN_IF_ERROR(add_cuda(check, source, read, **meaning, report));
  *holds = tools::holds(report);
  if (check.as_json) {
    print_json(json_of(report));
  } else {
    print(report);
  }
  return Status::ok();
}

}  // namespace

Status check_codec_file(const CodecCheck& check, bool* holds) {
  const auto begin = Clock::now();
  const Result<compll::Source> source = compll::program_source(check.file);
  if (!source) return source.status();
  const Result<FileProgram> read = compll::read_program(*source, check.parameters);
  if (!read) return read.status();
  Part begun;
  begun.making.text_seconds = seconds_since(begin);
  if (read->program->synchronize) {
    return check_codec(check, *source, *read, compll::make_rounds_program(read->program, check.parameters), begun,
                       holds);
  }
  return check_codec(check, *source, *read, compll::make_program_codec(read->program, check.parameters), begun, holds);
}

}  // namespace casync::tools
