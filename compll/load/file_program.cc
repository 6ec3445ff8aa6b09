// SPDX-License-Identifier: Apache-2.0
#include "compll/load/file_program.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>

#include "compll/codec/registry.h"
#include "compll/codegen/cpu.h"
#include "compll/lang/front_end.h"

namespace casync::compll {
namespace {

/// What the front end says of a file is the file's fault, not the caller's.
Status of_file(const Status& status) {
  return status.code() == StatusCode::kInvalidArgument ? compile_error(status.message()) : status;
}

Status refuse_value(const Program& program, const ProgramParameter& parameter, double value) {
  std::ostringstream text;
  text << "codec `" << program.declares.name << "`: parameter `" << parameter.name << "` is " << value << ", expected ";
  if (parameter.choices.empty()) {
    text << "a number from " << parameter.least << " to " << parameter.most;
  } else {
    for (const double choice : parameter.choices) text << (choice == parameter.choices.front() ? "" : " or ") << choice;
  }
  return invalid_argument(text.str());
}

/// Those of `parameters` that the text depends on, where they are not what the program says anyway.
Result<KnownParameters> fixed_values(const Program& program,
                                     std::span<const std::pair<std::string, double>> parameters) {
  KnownParameters fixed;
  for (const ProgramParameter& parameter : program.parameters) {
    for (const auto& [name, value] : parameters) {
      if (!parameter.fixed || name != parameter.name || value == parameter.initial) continue;
      if (!parameter.allows(value)) return refuse_value(program, parameter, value);
      fixed[name] = value;
    }
  }
  return fixed;
}

/// A file's name as that of a codec and of a function.
std::string name_from(const std::string& path) {
  std::string name = std::filesystem::path(path).stem().string();
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name.empty() ? "codec" : name;
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

/// The whole object hides what it defines but this function.
std::string with_entry(const std::string& text, const std::string& function) {
  return "#include \"compll/ops/generated.h\"\n"
         "namespace casync::compll {\n"
         "extern \"C\" __attribute__((visibility(\"default\"))) const GeneratedCodec* " +
         function + "();\n}\n" + text;
}

}  // namespace

Result<FileProgram> read_program(const std::string& path, const std::string& text,
                                 std::span<const std::pair<std::string, double>> parameters) {
  const Source source(path, text);
  Result<Program> program = compile(source);
  if (!program) return of_file(program.status());
  const Result<KnownParameters> fixed = fixed_values(*program, parameters);
  if (!fixed) return fixed.status();
  if (!fixed->empty()) program = compile(source, *fixed);
  if (!program) return of_file(program.status());
  Declarations& declares = program->declares;
  if (declares.name.empty()) declares.name = name_from(path);
  declares.digest = XXH3_64bits(text.data(), text.size());
  CASYNC_RETURN_IF_ERROR(give_number(path, declares));
  FileProgram read;
  const Result<std::string> cpu = cpu_text(*program, source, "codec.cc");
  if (cpu) {
    read.codec.function = generated_name(declares.name);
    read.codec.text = with_entry(*cpu, read.codec.function);
  } else if (cpu.status().code() == StatusCode::kUnimplemented) {
    read.why_interpreted = cpu.status().message();
  } else {
    return of_file(cpu.status());
  }
  read.program = std::make_shared<const Program>(std::move(program).value());
  return read;
}

}  // namespace casync::compll
