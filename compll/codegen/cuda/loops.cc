// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/loops.h"

#include <algorithm>

#include "compll/codegen/text/operation_text.h"
#include "compll/ir/tiles/outputs.h"

namespace casync::compll {
namespace {

/// The values that need a NaN's bits. With finite elements only transforms and states make a NaN, which is then kept.
std::vector<ValueId> seen_of(const EncodeGraph& encode) {
  const bool keeps = encode.graph.has_transforms() || !encode.states.empty();
  return keeps ? values_of(outputs_of(encode)) : encode.sections;
}

bool is_random(const Value& value) { return value.kind == Value::Kind::kCompute && value.arguments.empty(); }

}  // namespace

CudaLoops::CudaLoops(const Program& program, const EncodeGraph& encode, Writer& out, Diagnostics& diagnostics)
    : CudaRoutine(program, encode.graph, seen_of(encode), out, diagnostics),
      encode_(encode),
      conditions_(needed_if(graph_, values_of(outputs_of(encode)))) {
  text_.keep(encode.input);
  for (const std::optional<Condition>& condition : conditions_) {
    if (condition) text_.keep(condition->value);
  }
  of_places_ = find_of_places();
  for (const ValueId id : of_places_) text_.keep(id);
}

void CudaLoops::write_pass(const Pass& pass) {
  write_preamble(targets_of(pass), stores_of(pass));
  write_random(pass);
  write_hadamards();
  for (const Phase& phase : pass.phases) {
    for (const ValueId id : phase.reductions) {
      if (is_of_tensor(id)) out_.line(*cuda_reducer(graph_, graph_[id]) + " " + reducer(id) + ";");
    }
  }
  out_.open("for (uint64_t first = work.begin; first < work.end; first = work.behind(first))");
  out_.line("const uint32_t size = work.size_at(first);");
  if (shape_.has_blocks) out_.line("[[maybe_unused]] const uint64_t entry = work.block_at(first);");
  several_ = ahead_of_several(pass);
  kept_.clear();
  for (const ValueId id : several_) out_.line(quad_type(id) + "kept" + std::to_string(id) + " = {};");
  for (std::size_t i = 0; i < pass.phases.size(); ++i) write_phase(pass.phases[i], i == 0);
  out_.close();
  write_tensor_results(pass);
}

/// The values that a pass computes and stores, which the tensor's values have to precede.
std::vector<ValueId> CudaLoops::targets_of(const Pass& pass) const {
  std::vector<ValueId> targets;
  for (const Phase& phase : pass.phases) {
    targets.insert(targets.end(), phase.elements.begin(), phase.elements.end());
    targets.insert(targets.end(), phase.of_block.begin(), phase.of_block.end());
    for (const Output& output : phase.stores) targets.push_back(output.value);
    for (const ValueId id : phase.reductions) {
      targets.insert(targets.end(), graph_[id].arguments.begin(), graph_[id].arguments.end());
      if (conditions_[id]) targets.push_back(conditions_[id]->value);
    }
  }
  return targets;
}

/// The sections that a pass writes.
std::vector<Output> CudaLoops::stores_of(const Pass& pass) const {
  std::vector<Output> all;
  for (const Phase& phase : pass.phases) {
    all.insert(all.end(), phase.block_stores.begin(), phase.block_stores.end());
    for (const Output& output : phase.stores) {
      if (output.kind == Output::Kind::kSection) all.push_back(output);
    }
  }
  return all;
}

/// The tensor's values that these need: of a reduction the initial value, not the elements, which are over.
ValueFlags CudaLoops::tensor_values(const std::vector<ValueId>& needed) const {
  ValueFlags in(graph_.values().size(), false);
  for (const ValueId id : needed) in[id] = true;
  for (std::size_t id = in.size(); id-- > 0;) {
    const Value& value = graph_[static_cast<ValueId>(id)];
    if (!in[id]) continue;
    for (std::size_t i = value.kind == Value::Kind::kReduce ? 1 : 0; i < value.arguments.size(); ++i) {
      in[value.arguments[i]] = true;
    }
  }
  for (std::size_t id = 0; id < in.size(); ++id) {
    in[id] = in[id] && graph_[static_cast<ValueId>(id)].domain == Domain::kTensor;
  }
  return in;
}

/// Writes the sources of random numbers.
void CudaLoops::write_random(const Pass& pass) {
  std::vector<ValueId> of_elements;
  bool any = false;
  for (const Phase& phase : pass.phases) {
    for (const ValueId id : phase.of_block) any = any || is_random(graph_[id]);
    for (const ValueId id : phase.elements) {
      const auto known = std::find(of_elements.begin(), of_elements.end(), id);
      if (is_random(graph_[id]) && known == of_elements.end()) of_elements.push_back(id);
    }
  }
  if (any || !of_elements.empty()) out_.line("const RandomStream random = work.random();");
  for (const ValueId id : of_elements) {
    out_.line("[[maybe_unused]] RandomQuads random" + std::to_string(id) + "(random, " +
              std::to_string(graph_[id].purpose) + ");");
  }
}

void CudaLoops::write_preamble(const std::vector<ValueId>& needed, const std::vector<Output>& stores) {
  out_.line("[[maybe_unused]] const Settings& settings = work.launch.codec;");
  out_.line("[[maybe_unused]] const uint64_t n = work.segment.n;");
  if (!stores.empty()) out_.line("const Sections at(n, settings.log2_block);");
  for (const Output& output : stores) {
    out_.line("unsigned char* const " + section(output.index) + " = in_global(work.segment.payload) + at." +
              section_word(program_, output.index) + ";");
  }
  const ValueFlags in = tensor_values(needed);
  for (ValueId id = 0; id < in.size(); ++id) {
    const Value& value = graph_[id];
    if (!in[id] || !text_.has_line(id)) continue;
    if (is_random(value)) refuse(value.at, "a random number for the tensor");
    switch (value.kind) {
      case Value::Kind::kParameter: define(id, parameter(value)); break;
      case Value::Kind::kCount: define(id, count(value)); break;
      case Value::Kind::kReduce: {
        const std::string word = "load_slot(work.slots + " + std::to_string(slots_.at(id)) + ")";
        define(id, *cuda_reducer(graph_, value) + "::value_of(" + word + ")");
        break;
      }
      default: define(id, text_.definition(id)); break;
    }
  }
}

void CudaLoops::write_phase(const Phase& phase, bool first) {
  write_block_values(phase);
  if (!has_loop(phase)) return;
  std::vector<ValueId> in_quads, in_lanes;
  for (const ValueId id : phase.reductions) {
    (is_ordered(graph_, graph_[id]) ? in_lanes : in_quads).push_back(id);
    if (!is_of_tensor(id)) out_.line(*cuda_reducer(graph_, graph_[id]) + " " + reducer(id) + ";");
  }
  out_.open("for (uint32_t at_piece = 0; at_piece < size; at_piece += kPiece)");
  out_.line(std::string("const Piece piece = work.") + (first ? "load" : "again") + "(source, first, at_piece, size);");
  if (!phase.stores.empty() || !in_quads.empty()) write_quads(phase, in_quads);
  if (!in_lanes.empty()) write_lanes(phase, in_lanes);
  out_.close();
  out_.forget_line();
}

std::string CudaLoops::holds(const Condition& condition) const {
  return (condition.holds ? "" : "!") + text_.use(condition.value);
}

/// A reduction's result: `.result()`, with the initial value of a reduction by a function.
std::string CudaLoops::result_of(ValueId id) const {
  const Value& value = graph_[id];
  if (!is_ordered(graph_, value)) return "of_block(" + reducer(id) + ", settings.block)";
  return reducer(id) + ".result(" + (value.arguments.size() > 1 ? text_.bare(value.arguments[1]) : "") + ")";
}

void CudaLoops::write_block_values(const Phase& phase) {
  for (const ValueId id : phase.of_block) {
    if (!text_.has_line(id)) continue;
    const Value& value = graph_[id];
    if (value.kind == Value::Kind::kBlockReduce) {
      const std::optional<Condition>& condition = conditions_[id];
      define(id, condition ? holds(*condition) + " ? " + result_of(id) + " : " + type_text(value.type) + "()"
                           : result_of(id));
    } else if (value.kind == Value::Kind::kIndex) {
      define(id, type_text(value.type) + "(entry)");
    } else if (is_random(value)) {
      const std::string drawn = "random_bits(random, entry, " + std::to_string(value.purpose) + ")";
      define(id, value.op == Op::kRandomUniform ? "uniform(" + drawn + ")" : drawn);
    } else {
      define(id, text_.definition(id));
    }
  }
  if (phase.block_stores.empty()) return;
  out_.open("if (work.begins_block(size))");
  for (const Output& output : phase.block_stores) {
    out_.line("store_one<" + entry_bits(output.index) + ">(" + text_.bare(output.value) + ", " + section(output.index) +
              ", entry);");
  }
  out_.close();
}

void CudaLoops::write_draws(const Phase& phase, const ValueFlags& here) {
  for (const ValueId id : phase.elements) {
    if (!here[id] || !is_random(graph_[id])) continue;
    out_.line("const Quad<uint32_t> drawn" + std::to_string(id) + " = random" + std::to_string(id) + ".quad(i);");
  }
}

/// Writes a value of the loop's element.
void CudaLoops::write_element(ValueId id, Loop loop) {
  const Value& value = graph_[id];
  if (!text_.has_line(id)) return;
  const bool quads = loop == Loop::kQuads;
  if (value.kind == Value::Kind::kInput) {
    define(id, quads ? "x[k]" : "work.kept[j]");
  } else if (value.kind == Value::Kind::kState) {
    const std::string index = std::to_string(value.state);
    define(id, quads ? state(value.state) + "[k]" : "work.state_at(" + index + ", i)");
  } else if (value.kind == Value::Kind::kIndex) {
    define(id, type_text(value.type) + (quads ? "(i + k)" : "(i)"));
  } else if (is_ahead(id)) {
    define(id, turned_element(id));
  } else if (is_random(value)) {
    const std::string drawn =
        quads ? "drawn" + std::to_string(id) + "[k]" : "random_bits(random, i, " + std::to_string(value.purpose) + ")";
    define(id, value.op == Op::kRandomUniform ? "uniform(" + drawn + ")" : drawn);
  } else {
    define(id, text_.definition(id));
  }
}

void CudaLoops::write_lanes(const Phase& phase, const std::vector<ValueId>& reductions) {
  std::vector<ValueId> targets;
  targets.reserve(reductions.size());
  for (const ValueId id : reductions) targets.push_back(graph_[id].arguments.front());
  const ValueFlags here = below(targets, Domain::kElement);
  const std::optional<Condition>& condition = conditions_[reductions.front()];
  const bool is_for_one_choice = condition && std::all_of(reductions.begin(), reductions.end(),
                                                          [&](ValueId id) { return conditions_[id] == condition; });
  const bool are_sums = std::all_of(reductions.begin(), reductions.end(),
                                    [&](ValueId id) { return graph_[id].reducer == Reducer::kSum; });
  out_.forget_line();
  if (is_for_one_choice) out_.open("if (" + holds(*condition) + ")");
  out_.line("__syncwarp();");
  if (are_sums) {
    write_lane_sums(phase, reductions, here);
  } else {
    write_lane_loop(phase, reductions, here, "");
  }
  for (const ValueId id : reductions) out_.line("if (piece.ends_chunk()) " + reducer(id) + ".end_chunk();");
  out_.line("__syncwarp();");
  if (is_for_one_choice) out_.close();
}

/// Writes sums that do not check for NaN after each addition; if the result is NaN, they are computed again, exactly.
void CudaLoops::write_lane_sums(const Phase& phase, const std::vector<ValueId>& reductions, const ValueFlags& here) {
  std::string any;
  for (const ValueId id : reductions) {
    out_.line("const LaneSum " + reducer(id) + "_before = " + reducer(id) + ";");
    any += (any.empty() ? "" : " || ") + reducer(id) + ".is_nan()";
  }
  out_.open("const auto in_lanes = [&](auto numbers)");
  text_.write_seen_as("numbers.");
  write_lane_loop(phase, reductions, here, "numbers, ");
  text_.write_seen_as("");
  out_.close(";");
  out_.line("in_lanes(Plain());");
  out_.open("if (__any_sync(kWholeWarp, " + any + "))");
  for (const ValueId id : reductions) out_.line(reducer(id) + " = " + reducer(id) + "_before;");
  out_.line("in_lanes(Exact());");
  out_.close();
}

void CudaLoops::write_lane_loop(const Phase& phase, const std::vector<ValueId>& reductions, const ValueFlags& here,
                                const std::string& numbers) {
  out_.open("for (uint32_t j = work.lane % kReductionLanes; j < piece.size; j += kReductionLanes)");
  out_.line("[[maybe_unused]] const uint64_t i = piece.first + j;");
  for (const ValueId id : phase.elements) {
    if (here[id]) write_element(id, Loop::kLanes);
  }
  for (const ValueId id : reductions) {
    out_.line(reducer(id) + ".take(" + numbers + text_.bare(graph_[id].arguments.front()) + ");");
  }
  out_.close();
}

/// Writes the end of a pass: the results of its reductions go to the workspace.
void CudaLoops::write_tensor_results(const Pass& pass) {
  for (const Phase& phase : pass.phases) {
    for (const ValueId id : phase.reductions) {
      if (!is_of_tensor(id)) continue;
      out_.line("join_tensor(" + reducer(id) + ", work.slots + " + std::to_string(slots_.at(id)) + ");");
    }
  }
}

}  // namespace casync::compll
