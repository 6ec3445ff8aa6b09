// SPDX-License-Identifier: Apache-2.0
#include "compll/load/file_program.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <set>
#include <sstream>

#include "base/codec_file.h"
#include "compll/codec/registry.h"
#include "compll/codegen/cpu/cpu.h"
#include "compll/lang/front_end.h"
#include "compll/lang/terms.h"

namespace casync::compll {
namespace {

/// Turns the front end's InvalidArgument into CompileError: the file is wrong, not the caller.
Status of_file(const Status& status) {
  return status.code() == StatusCode::kInvalidArgument ? compile_error(status.message()) : status;
}

std::string of_parameter(const Program& program, const ProgramParameter& parameter) {
  return "codec `" + program.declares.name + "`: parameter `" + parameter.name + "`";
}

/// Refuses a call without a required parameter.
Status refuse_missing(const Program& program, const ProgramParameter& parameter) {
  return invalid_argument(of_parameter(program, parameter) + " has no default: say " + parameter.name +
                          "=VALUE where the codec is named; it takes " + parameter.allowed());
}

/// Returns true if loops over a tile, which are the quick ones, have room for blocks of so many elements.
bool fits_tiles(double block) { return block >= 16 && std::has_single_bit(static_cast<std::uint64_t>(block)); }

/// The parameters that are the size of a block.
std::set<ParameterId> block_parameters(const Program& program) {
  std::set<ParameterId> found;
  const auto note = [&](const Constant& block) {
    if (block.parameter) found.insert(*block.parameter);
  };
  const auto note_term = [&](const Term& term) { note(term.block); };
  for (const Routine* routine : {&program.encode, &program.decode}) for_each_term(*routine, note_term);
  for (const auto* routine : {&program.merge, &program.result}) {
    if (*routine) for_each_term(**routine, note_term);
  }
  for (const Section& section : program.sections) {
    if (section.type.extent && section.type.extent->kind == Extent::Kind::kBlocks) note(section.type.extent->count);
  }
  return found;
}

/// The given values that the text depends on: of fixed parameters, and of blocks that do not fit loops over tiles.
Result<KnownParameters> fixed_values(const Program& program,
                                     std::span<const std::pair<std::string, double>> parameters) {
  KnownParameters fixed;
  const std::set<ParameterId> blocks = block_parameters(program);
  for (ParameterId id = 0; id < program.parameters.size(); ++id) {
    const ProgramParameter& parameter = program.parameters[id];
    const auto given = std::find_if(parameters.begin(), parameters.end(),
                                    [&](const auto& each) { return each.first == parameter.name; });
    if (given == parameters.end()) {
      if (parameter.required) return refuse_missing(program, parameter);
      continue;
    }
    const double value = given->second;
    if (!parameter.allows(value)) {
      std::ostringstream text;
      text.precision(15);  // as it was typed, not 1e+06
      text << of_parameter(program, parameter) << " is " << value << ", expected " << parameter.allowed();
      return invalid_argument(text.str());
    }
    if (parameter.fixed || (blocks.count(id) != 0 && !fits_tiles(value))) fixed[parameter.name] = value;
  }
  return fixed;
}

/// The name of a codec that its file does not name; of two files the beginning that their names share, if they do.
std::string name_from(const std::string& path) {
  std::string name;
  for (const std::string& file : codec_files(path)) {
    const std::string stem = std::filesystem::path(file).stem().string();
    const auto shared = std::mismatch(name.begin(), name.end(), stem.begin(), stem.end());
    name = name.empty() ? stem : std::string(name.begin(), shared.first);
  }
  return codec_name_of_file(name.empty() ? "" : name + ".cll");
}

/// Payloads of a file carry its digest as well, so two files may share a number; a built-in codec's is its own.
Status give_number(const std::string& path, Declarations& declares) {
  if (declares.number == 0) {
    const std::uint64_t numbers = 256 - kFirstFileNumber;
    declares.number = static_cast<std::uint8_t>(kFirstFileNumber + declares.digest % numbers);
  }
  const std::string owner = built_in_with_number(declares.number);
  if (owner.empty() || owner == declares.name) return Status::ok();
  return compile_error(path + ": codec `" + declares.name + "` has number " + std::to_string(declares.number) +
                       ", which is that of the built-in codec `" + owner + "`: leave it out, or take one from " +
                       std::to_string(kFirstFileNumber) + " to 255");
}

}  // namespace

Result<FileProgram> read_program(const Source& source, std::span<const std::pair<std::string, double>> parameters) {
  const std::string& path = source.name();
  // Types may be made of any parameter: first with all given values, then with those that matter.
  Result<Program> program = compile(source, KnownParameters(parameters.begin(), parameters.end()), Known::kOffered);
  if (!program) return of_file(program.status());
  if (program->declares.name.empty()) program->declares.name = name_from(path);
  const Result<KnownParameters> fixed = fixed_values(*program, parameters);
  if (!fixed) return fixed.status();
  program = compile(source, *fixed);
  if (!program) return of_file(program.status());
  Declarations& declares = program->declares;
  if (declares.name.empty()) declares.name = name_from(path);
  declares.digest = XXH3_64bits(source.text().data(), source.text().size());
  CASYNC_RETURN_IF_ERROR(give_number(path, declares));
  FileProgram read;
  const Result<std::string> cpu = cpu_text(*program, source, "codec.cc");
  if (cpu) {
    read.codec.function = generated_name(declares.name);
    read.codec.text = visible_declaration(declares.name) + *cpu;
  } else if (cpu.status().code() == StatusCode::kUnimplemented) {
    read.why_interpreted = cpu.status().message();
  } else {
    return of_file(cpu.status());
  }
  read.program = std::make_shared<const Program>(std::move(program).value());
  return read;
}

}  // namespace casync::compll
