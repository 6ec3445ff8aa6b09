// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/result_text.h"

#include "compll/codegen/cpu/routine_text.h"

namespace casync::compll {
namespace {

class ResultText : RoutineText {
 public:
  ResultText(const CpuTiles& plan, Writer& out)
      : RoutineText(*plan.program, plan.result->values, plan.lowered->block, out), plan_(*plan.result) {}

  void write() {
    out_.open("void result_tile(const GeneratedTile& tile, const float* decoded, float* out, Write mode)");
    define_states(plan_.result->states.size());
    for (const ValueId id : plan_.of_tensor) define_of_tensor(id);
    define_random(plan_.random);
    write_loop();
    out_.line("static_cast<void>(decoded), static_cast<void>(mode);");
    out_.close();
    out_.line("");
  }

 private:
  void define_of_tensor(ValueId id) {
    const Value& value = graph_[id];
    define(id, value.kind == Value::Kind::kParameter ? parameter(value)
               : value.kind == Value::Kind::kCount   ? count(value)
                                                     : text_.definition(id));
  }

  void write_loop() {
    out_.open("for_groups(0, tile.count, [&](size_t i, auto rest) COMPLL_INLINE");
    for (const ValueId id : plan_.elements) {
      if (graph_[id].kind == Value::Kind::kState)
        out_.line("fetch_state(" + state(graph_[id].state) + ", i + kFetchFloatsAhead / sizeof(float));");
      define_element(id);
    }
    for (const Output& output : plan_.stores) {
      if (output.kind == Output::Kind::kResult)
        out_.line("write_floats<Write::kPlain>(" + text_.use(output.value, true) + ", out + i, rest);");
    }
    const bool keeps = !plan_.result->states.empty();
    if (keeps) out_.open("if (keeps_states)");
    for (const Output& output : plan_.stores) {
      if (output.kind == Output::Kind::kState) out_.line(store_state(output));
    }
    if (keeps) out_.close();
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

  const CpuResult& plan_;
};

}  // namespace

void write_result(const CpuTiles& plan, Writer& out) { ResultText(plan, out).write(); }

}  // namespace casync::compll
