// SPDX-License-Identifier: Apache-2.0
//
// Loops over four neighbours for each thread.
#include <algorithm>
#include <utility>

#include "compll/codegen/cuda/loops.h"

namespace casync::compll {
namespace {

bool is_operation(const Value& value) { return value.kind == Value::Kind::kCompute && !value.arguments.empty(); }

}  // namespace

void CudaLoops::write_quads(const Phase& phase, const std::vector<ValueId>& reductions) {
  std::optional<Output> residual;
  out_.open("for (uint32_t row = 0; row < piece.size; row += kRow)");
  out_.line("const uint32_t j = row + 4 * work.lane, rest = work.rest(piece, j);");
  out_.line("[[maybe_unused]] const uint64_t i = piece.first + j;");
  out_.line("const Quad<float> x = work.quad(j);");
  write_state_loads(phase);
  for (const Output& output : phase.stores) {
    if (output.kind == Output::Kind::kResidual) {
      residual = output;
    } else if (output.kind == Output::Kind::kState) {
      out_.line("Quad<float> " + state_then(output.index) + ";");
    } else if (graph_[output.value].type == kDoubleType) {
      refuse(graph_[output.value].at, "a section of doubles");
    } else {
      out_.line("Quad<uint32_t> " + section_word(program_, output.index) + "_codes;");
    }
  }
  const bool turns = residual && graph_.has_transforms();
  if (residual) {
    out_.line("Quad<float> kept_back;");
    out_.line("const bool keeps_back = work.residual_out != nullptr;");
  }
  Turned turned = write_quad_body(phase, reductions, residual);
  if (turns) write_turned_residual(phase, residual->value, std::move(turned));
  for (const Output& output : phase.stores) {
    if (output.kind != Output::Kind::kSection) continue;
    out_.line("store_quad<" + entry_bits(output.index) + ">(" + section_word(program_, output.index) + "_codes, " +
              section(output.index) + ", i, rest);");
  }
  if (residual) out_.line("if (keeps_back) work.keep_back(kept_back, i, rest);");
  for (const Output& output : phase.stores) {
    if (output.kind != Output::Kind::kState) continue;
    out_.line("work.keep_state(" + std::to_string(output.index) + ", " + state_then(output.index) + ", i, rest);");
  }
  out_.close();
}

void CudaLoops::write_state_loads(const Phase& phase) {
  for (const ValueId id : phase.elements) {
    const Value& value = graph_[id];
    if (value.kind != Value::Kind::kState) continue;
    out_.line("[[maybe_unused]] const Quad<float> " + state(value.state) + " = work.state(" +
              std::to_string(value.state) + ", i, rest);");
  }
}

Turned CudaLoops::write_quad_body(const Phase& phase, const std::vector<ValueId>& reductions,
                                  const std::optional<Output>& residual) {
  const std::vector<ValueId> targets = targets_of(phase, reductions);
  const ValueFlags always = up_to_ahead(targets);
  std::vector<ValueId> all = targets;
  if (residual) all.push_back(residual->value);
  const ValueFlags here = up_to_ahead(all);
  write_draws(phase, below(all, Domain::kElement));
  Turned turned = write_own_ahead(targets);
  out_.line("#pragma unroll");
  out_.open("for (uint32_t k = 0; k < 4; ++k)");
  for (const ValueId id : phase.elements) {
    if (always[id]) write_element(id, Loop::kQuads);
  }
  for (const Output& output : phase.stores) {
    if (output.kind == Output::Kind::kSection) {
      out_.line(section_word(program_, output.index) + "_codes[k] = code_of(" + text_.bare(output.value) + ");");
    } else if (output.kind == Output::Kind::kState) {
      out_.line(state_then(output.index) + "[k] = " + text_.bare(output.value) + ";");
    }
  }
  for (const ValueId id : reductions) {
    out_.line("if (k < rest) " + reducer(id) + ".take(" + text_.bare(graph_[id].arguments.front()) + ");");
  }
  if (residual && !graph_.has_transforms()) {
    // If residuals are kept as a rule, the check costs more than computing a residual in vain.
    const bool asks = !program_.declares.feedback;
    if (asks) out_.open("if (keeps_back)");
    for (const ValueId id : phase.elements) {
      if (here[id] && !always[id]) write_element(id, Loop::kQuads);
    }
    out_.line("kept_back[k] = " + text_.bare(residual->value) + ";");
    if (asks) out_.close();
  }
  out_.close();
  return turned;
}

/// The elements that a loop needs even if no residual is kept: states are kept as a rule.
std::vector<ValueId> CudaLoops::targets_of(const Phase& phase, const std::vector<ValueId>& reductions) const {
  std::vector<ValueId> targets;
  for (const ValueId id : reductions) targets.push_back(graph_[id].arguments.front());
  for (const Output& output : phase.stores) {
    if (output.kind != Output::Kind::kResidual) targets.push_back(output.value);
  }
  return targets;
}

/// Finds values made of the element's place alone, by several operations, and used with others: signs of a rotation. In
/// programs with transforms they are written ahead as those are.
std::set<ValueId> CudaLoops::find_of_places() const {
  constexpr int kMany = 4;
  std::set<ValueId> found;
  if (!graph_.has_transforms()) return found;
  std::vector<int> operations;  // of elements, from the place on; -1: made of something else, too
  for (ValueId id = 0; id < graph_.values().size(); ++id) {
    const Value& value = graph_[id];
    int count = value.domain == Domain::kElement && (value.kind == Value::Kind::kIndex || is_operation(value)) ? 0 : -1;
    for (const ValueId argument : value.arguments) {
      if (count < 0 || graph_[argument].domain == Domain::kTensor) continue;
      count = operations[argument] < 0 ? -1 : std::max(count, operations[argument] + 1);
    }
    operations.push_back(count);
    if (count >= 0) continue;
    for (const ValueId argument : value.arguments) {
      if (operations[argument] >= kMany) found.insert(argument);
    }
  }
  return found;
}

std::set<ValueId> CudaLoops::ahead_of_several(const Pass& pass) const {
  std::set<ValueId> once, several;
  for (const Phase& phase : pass.phases) {
    for (const ValueId id : ahead_of(targets_of(phase, phase.reductions))) {
      if (!once.insert(id).second) several.insert(id);
    }
  }
  return several;
}

/// Writes values ahead of a loop. If the unit is one row, values that an earlier loop has kept are still there.
Turned CudaLoops::write_own_ahead(const std::vector<ValueId>& targets) {
  Turned written;
  for (const ValueId id : ahead_of(targets)) {
    const std::string kept = "kept" + std::to_string(id);
    const bool is_kept = kept_.contains(id);
    written.insert(id);
    out_.line(quad_type(id) + turned(id) + (is_kept ? " = " + kept : "") + ";");
    if (is_kept) out_.open("if (size > kRow)");
    write_one_ahead(id, "Exact()", [&](ValueId each) { write_element(each, Loop::kQuads); });
    if (is_kept) out_.close();
    if (is_kept || !several_.contains(id)) continue;
    out_.line(kept + " = " + turned(id) + ";");
    kept_.insert(id);
  }
  return written;
}

/// Writes the residual with the GPU's own NaN first: if the result has one, it is computed again, exactly.
void CudaLoops::write_turned_residual(const Phase& phase, ValueId residual, Turned turned) {
  const bool asks = !program_.declares.feedback;
  if (asks) out_.open("if (keeps_back)");
  out_.open("const auto residual = [&]([[maybe_unused]] auto numbers)");
  out_.line("Quad<float> left;");
  text_.write_seen_as("numbers.");
  write_ahead({residual}, "numbers", turned, [&](ValueId id) { write_element(id, Loop::kQuads); });
  const ValueFlags here = up_to_ahead({residual});
  out_.line("#pragma unroll");
  out_.open("for (uint32_t k = 0; k < 4; ++k)");
  for (const ValueId id : phase.elements) {
    if (here[id]) write_element(id, Loop::kQuads);
  }
  out_.line("left[k] = " + text_.bare(residual) + ";");
  out_.close();
  text_.write_seen_as("");
  out_.line("return left;");
  out_.close(";");
  out_.line("kept_back = residual(Plain());");
  out_.line("if (__any_sync(kWholeWarp, has_nan(kept_back))) kept_back = residual(Exact());");
  if (asks) out_.close();
}

}  // namespace casync::compll
