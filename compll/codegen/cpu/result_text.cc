// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/result_text.h"

#include "compll/codegen/cpu/routine_text.h"
#include "compll/ir/tiles/outputs.h"

namespace casync::compll {
namespace {

class ResultText : RoutineText {
 public:
  ResultText(const Program& program, const Lowered& lowered, Writer& out, Diagnostics& diagnostics)
      : RoutineText(program, lowered.result->graph, values_of(outputs_of(*lowered.result)), lowered, out, diagnostics),
        result_(*lowered.result),
        plan_(schedule(graph_, outputs_of(result_), Transforms::kKept)) {}

  void write() {
    for (const ValueId id : values_of(outputs_of(result_))) text_.keep(id);
    out_.open("void result_tile(const GeneratedTile& tile, const float* decoded, float* out, Write mode)");
    define_states(result_.states.size());
    const Pass& pass = plan_.passes.front();
    define_tensor_values(needed_of_tensor(pass));
    const Phase& phase = pass.phases.front();
    for (const ValueId id : phase.elements) {
      if (is_random(graph_[id])) out_.line("Random random" + std::to_string(id) + random_stream(graph_[id]) + ";");
    }
    write_loop(phase);
    out_.line("static_cast<void>(decoded), static_cast<void>(mode);");
    out_.close();
    out_.line("");
  }

 private:
  void write_loop(const Phase& phase) {
    out_.open("for_groups(0, tile.count, [&](size_t i, auto rest) COMPLL_INLINE");
    for (const ValueId id : phase.elements) {
      const Value& value = graph_[id];
      check_element(value);
      if (value.kind == Value::Kind::kState)
        out_.line("fetch_state(" + state(value.state) + ", i + kFetchFloatsAhead / sizeof(float));");
      if (text_.has_line(id)) define_element(id);
    }
    for (const Output& output : phase.stores) {
      if (output.kind == Output::Kind::kResult)
        out_.line("write_floats<Write::kPlain>(" + text_.use(output.value, true) + ", out + i, rest);");
    }
    if (!result_.states.empty()) out_.open("if (keeps_states)");
    for (const Output& output : phase.stores) {
      if (output.kind == Output::Kind::kState) out_.line(store_state(output));
    }
    if (!result_.states.empty()) out_.close();
    out_.line("static_cast<void>(rest);");
    out_.close(");");
  }

  void define_element(ValueId id) {
    const Value& value = graph_[id];
    switch (value.kind) {
      case Value::Kind::kInput: define(id, "load_some_floats(decoded + i, rest)"); break;
      case Value::Kind::kState: define(id, load_state(value)); break;
      case Value::Kind::kIndex: define(id, index(value)); break;
      default: define(id, is_random(value) ? random(value, "random" + std::to_string(id)) : text_.definition(id));
    }
  }

  const ResultGraph& result_;
  Schedule plan_;
};

}  // namespace

void write_result(const Program& program, const Lowered& lowered, Writer& out, Diagnostics& diagnostics) {
  ResultText(program, lowered, out, diagnostics).write();
}

}  // namespace casync::compll
