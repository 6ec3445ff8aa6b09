// SPDX-License-Identifier: Apache-2.0
#include "compll/interpreter/program_codec.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/check.h"
#include "compll/codec/coded/coded_codec.h"
#include "compll/codec/merge_whole.h"
#include "compll/codec/payload.h"
#include "compll/codec/rounds_info.h"
#include "compll/interpreter/bit_sections.h"
#include "compll/interpreter/interpreter.h"
#include "compll/interpreter/program_values.h"
#include "compll/lang/element_count.h"

namespace casync::compll {
namespace {

/// Number of elements that share statistics: the program's smallest block, else 1.
Elements block_of(const Program& program, std::span<const double> values) {
  Elements least = 0;
  for (const Section& section : program.sections) {
    if (!section.type.extent || section.type.extent->kind != Extent::Kind::kBlocks) continue;
    const Constant& count = section.type.extent->count;
    const auto block = count.parameter ? static_cast<Elements>(values[*count.parameter]) : count.value;
    least = least == 0 ? block : std::min(least, block);
  }
  return std::max<Elements>(least, 1);
}

constexpr Elements kMany = Elements{1} << 26;

CodecInfo info_of(const Program& program, const ProgramValues& values) {
  CodecInfo info = declared_by(program, values);
  info.block = block_of(program, values.values);
  info.bits_per_element = payload_bits(program, values.values, kMany);
  if (values.feedback) info.state_initial.push_back(0);
  for (const ProgramState& state : program.states) info.state_initial.push_back(state.initial);
  info.states = static_cast<std::uint32_t>(info.state_initial.size());
  info.coded_terms = program.declares.votes || !program.states.empty();
  info.has_result = program.result.has_value();
  return info;
}

class ProgramCodec final : public Codec, public SectionedPayload {
 public:
  ProgramCodec(std::shared_ptr<const Program> program, const ProgramValues& values)
      : program_(std::move(program)), values_(values.values), info_(info_of(*program_, values)) {}

  const CodecInfo& info() const override { return info_; }
  void prepare_thread() const override {}
  Bytes encoded_bound(Elements n) const override { return places(n).size(); }
  Status check(ConstView payload, Elements n) const override { return places(n).check(layout(n), payload); }

  Encoded encode(const float* in, Elements n, Residual residual, const EncodeContext& context,
                 std::byte* payload) const override {
    return encode_by(&Interpreter::encode, in, 1, n, residual, context, payload);
  }
  Encoded encode_sum(const float* sum, float scale, Elements n, Residual residual, const EncodeContext& context,
                     std::byte* payload) const override {
    return encode_by(&Interpreter::merge, sum, scale, n, residual, context, payload);
  }

  void result(const float* decoded, Elements n, Residual state, const EncodeContext& context,
              float* out) const override {
    CASYNC_CHECK(info_.has_result);
    States states = own_states(state, n);
    const std::vector<float> made = Interpreter(*program_, values_).result({decoded, n}, stream_of(context), states);
    keep(states, state);
    std::copy(made.begin(), made.end(), out);
  }

  void decode(ConstView payload, Elements n, float* out) const override {
    const std::vector<float> given = decoded(payload, n);
    std::copy(given.begin(), given.end(), out);
  }
  void decode_add(ConstView payload, Elements n, float* out) const override {
    const std::vector<float> given = decoded(payload, n);
    for (Elements i = 0; i < n; ++i) out[i] += given[i];
  }

  Encoded merge(std::span<const Contribution> contributions, Elements n, float scale, const Codec& second,
                Residual residual, const EncodeContext& context, std::byte* payload) const override {
    return merge_whole(*this, contributions, n, scale, second, residual, context, payload);
  }

  PayloadLayout layout(Elements n) const override { return layout_of(info_, n, info_.block, encoded_bound(n)); }

  SectionPlaces places(Elements n) const override {
    SectionPlaces at;
    for (const Section& section : program_->sections) {
      if (n != 0) at.add(section.type.element.bits, element_count(*program_, section.type, values_, n));
    }
    return at;
  }

 private:
  using Encoder = std::vector<Values> (Interpreter::*)(std::span<const float>, const RandomStream&, States&);

  static RandomStream stream_of(const EncodeContext& context) {
    return {context.seed, context.gradient, context.step, context.first};
  }

  /// The program's own states lie after the residual, if there is one. None given: they begin anew.
  States own_states(Residual state, Elements n) const {
    States states;
    for (const ProgramState& declared : program_->states) {
      const float* in = state.in == nullptr ? nullptr : state.in + place_of(states.size(), state);
      states.push_back(in == nullptr ? std::vector<float>(n, declared.initial) : std::vector<float>(in, in + n));
    }
    return states;
  }
  void keep(const States& states, Residual state) const {
    for (std::size_t i = 0; i < states.size() && state.out != nullptr; ++i) {
      std::copy(states[i].begin(), states[i].end(), state.out + place_of(i, state));
    }
  }
  /// A caller may give a residual to any codec that has no states instead.
  bool adds_residual() const { return info_.feedback || program_->states.empty(); }
  Elements place_of(std::size_t own, Residual state) const { return (own + (info_.feedback ? 1 : 0)) * state.stride; }

  Encoded encode_by(Encoder encoder, const float* in, float scale, Elements n, Residual residual,
                    const EncodeContext& context, std::byte* payload) const {
    std::vector<float> p(in, in + n);
    for (float& value : p) value *= scale;
    for (Elements i = 0; i < n && adds_residual() && residual.in != nullptr; ++i) p[i] += residual.in[i];
    const double overflow = program_->declares.overflow;
    const bool finite = std::all_of(p.begin(), p.end(), [&](float value) { return std::fabs(value) < overflow; });
    write_header(layout(n), finite, payload);
    if (n == 0) return {kHeaderBytes, true};
    Interpreter interpreter(*program_, values_);
    States states = own_states(residual, n);
    const std::vector<Values> sections = (interpreter.*encoder)(p, stream_of(context), states);
    const SectionPlaces at = places(n);
    at.write_gaps(payload);
    for (std::size_t i = 0; i < sections.size(); ++i) write_section(at[i], sections[i], payload);
    keep(states, residual);
    if (adds_residual() && residual.out != nullptr) {
      const std::vector<float> given = decoded({payload, at.size()}, n);
      for (Elements i = 0; i < n; ++i) residual.out[i] = p[i] - given[i];
    }
    return {at.size(), finite};
  }

  std::vector<float> decoded(ConstView payload, Elements n) const {
    if (n == 0) return {};
    std::vector<Values> sections;
    const SectionPlaces at = places(n);
    for (std::size_t i = 0; i < program_->sections.size(); ++i) {
      sections.push_back(read_section(at[i], program_->sections[i].type.element, payload));
    }
    return Interpreter(*program_, values_).decode(n, std::move(sections));
  }

  std::shared_ptr<const Program> program_;
  std::vector<double> values_;
  CodecInfo info_;
};

}  // namespace

Result<std::unique_ptr<Codec>> make_program_codec(std::shared_ptr<const Program> program,
                                                  std::span<const std::pair<std::string, double>> parameters) {
  if (program->synchronize) return refuse_rounds(program->declares.name);
  const Result<ProgramValues> values = values_for(*program, parameters);
  if (!values) return values.status();
  std::vector<Coding> codings;
  for (const Section& section : program->sections) codings.push_back(section.coding);
  return coded_where_asked(std::make_unique<ProgramCodec>(std::move(program), *values), std::move(codings));
}

}  // namespace casync::compll
