// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/cpu/memory_passes.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>

#include "compll/lang/element_count.h"
#include "compll/lang/syntax/diagnostic.h"
#include "compll/ops/trits.h"

namespace casync::compll {
namespace {

constexpr Elements kMany = Elements{1} << 26;

/// Bytes of sections for each element.
class SectionBytes {
 public:
  explicit SectionBytes(const Program& program) : program_(program) {
    for (const ProgramParameter& parameter : program.parameters) parameters_.push_back(parameter.initial);
  }

  double of(std::uint32_t section) const {
    const Type& type = program_.sections[section].type;
    if (!type.extent || type.extent->kind == Extent::Kind::kFixed) return 0;
    const auto count = static_cast<double>(element_count(program_, type, parameters_, kMany));
    return bits_per_element(type.element.bits) / 8 * count / static_cast<double>(kMany);
  }
  double of_all() const {
    double bytes = 0;
    for (std::uint32_t i = 0; i < program_.sections.size(); ++i) bytes += of(i);
    return bytes;
  }

 private:
  const Program& program_;
  std::vector<double> parameters_;
};

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return all;
}

std::string word_of(const Value& value, const Source& source) {
  const std::string line = line_in_words(source, value.at);
  return value.name.empty() ? "what is reduced in " + line : "`" + value.name + "` (" + line + ")";
}

/// The memory that a pass goes through.
class PassMemory {
 public:
  PassMemory(const CpuEncoder& plan, const CpuPass& pass)
      : graph_(plan.graph()), keeps_residual_(plan.program->declares.feedback) {
    for (const CpuLoop& loop : pass.loops) add(loop);
  }

  bool reads_input() const { return reads_input_; }
  bool stores_residual() const { return stores_residual_; }
  const std::set<std::uint32_t>& states_read() const { return states_read_; }
  const std::set<std::uint32_t>& states_stored() const { return states_stored_; }
  const std::set<std::uint32_t>& sections() const { return sections_; }
  bool stores_anything() const { return stores_residual_ || !states_stored_.empty() || !sections_.empty(); }

 private:
  void add(const CpuLoop& loop) {
    reads_input_ = reads_input_ || loop.loads_input;
    read(loop.elements);
    for (const CpuStore& each : loop.sections) sections_.insert(each.section);
    store(loop.ahead.stores);
    store(loop.after.stores);
    if (keeps_residual_) add(loop.residual);
    add(loop.states_then);
  }
  void add(const std::optional<CpuKept>& kept) {
    if (!kept) return;
    read(kept->elements);
    store(kept->stores);
  }
  void read(const std::vector<ValueId>& elements) {
    for (const ValueId id : elements) {
      if (graph_[id].kind == Value::Kind::kState) states_read_.insert(graph_[id].state);
    }
  }
  void store(const std::vector<Output>& stores) {
    for (const Output& output : stores) {
      if (output.kind == Output::Kind::kSection) sections_.insert(output.index);
      if (output.kind == Output::Kind::kState) states_stored_.insert(output.index);
      if (output.kind == Output::Kind::kResidual) stores_residual_ = true;
    }
  }

  const Graph& graph_;
  const bool keeps_residual_;
  bool reads_input_ = false, stores_residual_ = false;
  std::set<std::uint32_t> states_read_, states_stored_, sections_;
};

/// The passes of encode or merge.
class EncoderPasses {
 public:
  EncoderPasses(const CpuEncoder& plan, const Source& source)
      : plan_(plan), program_(*plan.program), source_(source), bytes_(program_) {}

  /// `input`: the bytes that an element of the vector is made of, its residual left out.
  std::vector<Loop> run(double input) const {
    std::vector<Loop> loops;
    for (const CpuPass& pass : plan_.passes) {
      const PassMemory memory(plan_, pass);
      const bool runs = loops.empty() || !pass.reductions.empty() || memory.stores_anything();
      if (runs) loops.push_back({words(pass, memory), read(memory, input), written(memory)});
    }
    return loops;
  }

  std::vector<std::string> reductions(const CpuPass& pass) const {
    std::vector<std::string> words;
    for (const ValueId id : pass.reductions) words.push_back(word_of(plan_.graph()[id], source_));
    return words;
  }

 private:
  std::string words(const CpuPass& pass, const PassMemory& memory) const {
    std::vector<std::string> words = reductions(pass);
    if (!memory.sections().empty()) words.emplace_back("sections");
    if (memory.stores_residual()) words.emplace_back("residual");
    for (const std::uint32_t state : memory.states_stored()) words.push_back("`" + program_.states[state].name + "`");
    return words.empty() ? "elements are checked" : joined(words);
  }
  double read(const PassMemory& memory, double input) const {
    const double vector = memory.reads_input() ? input + (program_.declares.feedback ? 4 : 0) : 0;
    return vector + 4 * static_cast<double>(memory.states_read().size());
  }
  double written(const PassMemory& memory) const {
    double bytes = 4 * static_cast<double>(memory.states_stored().size()) + (memory.stores_residual() ? 4 : 0);
    for (const std::uint32_t section : memory.sections()) bytes += bytes_.of(section);
    return bytes;
  }

  const CpuEncoder& plan_;
  const Program& program_;
  const Source& source_;
  SectionBytes bytes_;
};

Loop loop_of(const CpuResult& result) {
  const auto kept = [](const Output& output) { return output.kind == Output::Kind::kState; };
  const auto written = std::count_if(result.stores.begin(), result.stores.end(), kept);
  return {"what was decoded becomes the gradient", 4 + 4 * static_cast<double>(result.states.size()),
          4 + 4 * static_cast<double>(written)};
}

}  // namespace

std::vector<FunctionLoops> loops_of(const CpuTiles& plan, const Source& source, int merged) {
  const Program& program = *plan.program;
  const double payload = SectionBytes(program).of_all(), codes = merged * payload;
  const bool by_words = plan.merges_bits && !program.declares.feedback;
  std::vector<FunctionLoops> all = {
      {program.declares.feedback ? "encode with feedback" : "encode", EncoderPasses(plan.encoder, source).run(4)},
      {"decode", {{"codes become elements", payload, 4}}},
      {"decode and add", {{"codes become elements", payload + 4, 4}}},
      {"merge of " + std::to_string(merged),
       by_words ? std::vector<Loop>{{"words of codes become sections, no element is decoded", codes, payload}}
                : EncoderPasses(plan.merge ? *plan.merge : plan.encoder, source).run(codes)}};
  if (plan.result) all.push_back({"result", {loop_of(*plan.result)}});
  return all;
}

std::string reductions_of_first_pass(const CpuEncoder& plan, const Source& source) {
  return joined(EncoderPasses(plan, source).reductions(plan.passes.front()));
}

}  // namespace casync::compll
