// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/run_program.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "compll/codec/coded/coded_codec.h"
#include "compll/interpreter/program_codec.h"
#include "compll/interpreter/rounds_program.h"
#include "compll/lang/front_end.h"
#include "compll/lang/syntax/lexer.h"
#include "compll/lang/syntax/parser.h"

namespace casync::compll {
namespace {

// A program costs what it says, and the interpreter is slow by design. Large programs are compiled only.
constexpr std::size_t kMostVariables = 2000;
constexpr std::size_t kMostElements = std::size_t{1} << 20;

std::vector<float> elements(Elements n) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kValues[] = {0.5f, -1.25f, 0, -0.0f, 3e38f, -3e38f, 1e-45f, -7, kInfinity, -kInfinity, 2e9f};
  std::vector<float> values(n);
  for (Elements i = 0; i < n; ++i) values[i] = kValues[i % std::size(kValues)];
  if (n > 30) values[30] = std::numeric_limits<float>::quiet_NaN();
  return values;
}

bool is_small(const Program& program) {
  std::size_t held = 0;
  for (const ProgramVariable& variable : program.variables) {
    const bool fixed = variable.type.extent && variable.type.extent->kind == Extent::Kind::kFixed;
    held += fixed ? variable.type.extent->count.value : 1;
  }
  return program.variables.size() <= kMostVariables && held <= kMostElements;
}

/// Cuts a payload to the size that its encoder returned.
void keep(const Codec& codec, const Encoded& encoded, std::vector<std::byte>& payload) {
  CASYNC_CHECK(encoded.size == payload.size() || (size_varies(codec) && encoded.size < payload.size()));
  payload.resize(encoded.size);
}

void decode(const Codec& codec, const std::vector<std::byte>& payload, Elements n) {
  std::vector<float> given(n);
  codec.decode({payload.data(), payload.size()}, n, given.data());
}

/// A header with sections that nobody wrote.
void decode_made_up(const Codec& codec, std::vector<std::byte> payload, Elements n) {
  constexpr std::size_t kHeader = 16;
  for (std::size_t i = kHeader; i < payload.size(); ++i) payload[i] ^= static_cast<std::byte>(0x9d * i + 0xff);
  if (codec.check({payload.data(), payload.size()}, n).is_ok()) decode(codec, payload, n);
  std::fill(payload.begin() + std::min(kHeader, payload.size()), payload.end(), std::byte{0xff});
  if (codec.check({payload.data(), payload.size()}, n).is_ok()) decode(codec, payload, n);
}

/// By merge and by result, with what encode left behind.
void run_the_rest(const Codec& codec, Elements n, std::vector<float> states, const EncodeContext& context) {
  const std::vector<float> sum = elements(n);
  std::vector<float> after(states.size()), given(n);
  std::vector<std::byte> payload(codec.encoded_bound(n));
  const Residual residual{states.data(), after.data(), n};
  keep(codec, codec.encode_sum(sum.data(), 1, n, residual, context, payload.data()), payload);
  CASYNC_CHECK(codec.check({payload.data(), payload.size()}, n).is_ok());
  decode(codec, payload, n);
  if (codec.info().has_result) codec.result(sum.data(), n, residual, context, given.data());
}

void run(const Codec& codec, Elements n) {
  const std::vector<float> gradient = elements(n);
  const Elements arrays = std::max<Elements>(codec.info().states, 1);
  std::vector<float> before, after(arrays * n);
  for (Elements i = 0; i < arrays; ++i) before.insert(before.end(), gradient.begin(), gradient.end());
  std::vector<std::byte> payload(codec.encoded_bound(n)), again(payload.size());
  const EncodeContext context{17, 4, 9, 0};
  keep(codec, codec.encode(gradient.data(), n, {before.data(), after.data(), n}, context, payload.data()), payload);
  CASYNC_CHECK(codec.check({payload.data(), payload.size()}, n).is_ok());
  keep(codec, codec.encode(gradient.data(), n, {before.data(), nullptr, n}, context, again.data()), again);
  CASYNC_CHECK(payload == again);
  decode(codec, payload, n);
  decode_made_up(codec, std::move(payload), n);
  run_the_rest(codec, n, std::move(after), context);
}

/// Every turn of a step, twice, of what only one rank adds up.
void run(const RoundsCodec& codec, Elements rows, Elements columns) {
  const std::vector<float> gradient = elements(rows * columns);
  const RoundsShape shape = codec.shape(rows, columns);
  std::vector<float> states = elements(shape.states), after(shape.states), scratch(shape.scratch);
  std::vector<std::vector<float>> exchanged;
  std::vector<float*> places;
  for (const Elements size : shape.exchanged) exchanged.emplace_back(size);
  for (std::vector<float>& each : exchanged) places.push_back(each.data());
  std::vector<float> out[2] = {gradient, gradient};
  for (std::vector<float>& given : out) {
    for (std::uint32_t number = 0; number <= codec.info().rounds; ++number) {
      codec.turn({number, rows, columns, gradient.data(), places, states.data(), after.data(), scratch.data(),
                  number == codec.info().rounds ? given.data() : nullptr},
                 {17, 4, 9, 0});
    }
  }
  const auto same = [](float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); };
  CASYNC_CHECK(std::equal(out[0].begin(), out[0].end(), out[1].begin(), same));
}

void run_rounds(Program program, const std::vector<std::pair<std::string, double>>& parameters) {
  const auto codec = make_rounds_program(std::make_shared<const Program>(std::move(program)), parameters);
  CASYNC_CHECK(codec.is_ok());
  for (const auto& [rows, columns] : {std::pair<Elements, Elements>{0, 3}, {1, 1}, {5, 8}}) run(**codec, rows, columns);
}

void run(Program program, const std::vector<std::pair<std::string, double>>& parameters) {
  if (!is_small(program)) return;
  if (program.synchronize) return run_rounds(std::move(program), parameters);
  const auto codec = make_program_codec(std::make_shared<const Program>(std::move(program)), parameters);
  CASYNC_CHECK(codec.is_ok());
  for (const Elements n : {0, 1, 40}) run(**codec, n);
}

/// With each parameter at its least value, where its step allows that.
void run_with_least(const Source& source, const std::vector<ProgramParameter>& parameters) {
  std::vector<std::pair<std::string, double>> least;
  for (const ProgramParameter& parameter : parameters) {
    least.emplace_back(parameter.name, parameter.allows(parameter.least) ? parameter.least : parameter.initial);
  }
  Result<Program> program = compile(source, KnownParameters(least.begin(), least.end()));
  if (program.is_ok()) run(std::move(*program), least);
}

void print_stages(const Source& source, const Program& program) {
  Diagnostics diagnostics(source);
  const Tokens tokens = read_tokens(diagnostics);
  CASYNC_CHECK(!text_of(source, tokens).empty());
  CASYNC_CHECK(!text_of(parse(tokens, diagnostics)).empty());
  CASYNC_CHECK(!text_of(program).empty());
}

}  // namespace

bool run_program(const std::string& text) {
  const Source source("fuzzed.cll", text);
  Result<Program> program = compile(source);
  if (!program.is_ok()) return false;
  print_stages(source, *program);
  run_with_least(source, program->parameters);
  run(std::move(*program), {});
  return true;
}

}  // namespace casync::compll
