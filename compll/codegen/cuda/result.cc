// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/result.h"

#include "compll/codegen/cuda/routine.h"
#include "compll/ir/tiles/outputs.h"

namespace casync::compll {
namespace {

class CudaResultText : CudaRoutine {
 public:
  CudaResultText(const Program& program, const ResultGraph& result, Writer& out, Diagnostics& diagnostics)
      : CudaRoutine(program, result.graph, values_of(outputs_of(result)), out, diagnostics),
        result_(result),
        plan_(schedule(graph_, outputs_of(result), Transforms::kKept)) {}

  void write() {
    for (const ValueId id : values_of(outputs_of(result_))) text_.keep(id);
    out_.line("/// From what was decoded and the states to the gradient and the states.");
    out_.open("struct Result");
    out_.line("template <class Work>");
    out_.open(
        "__device__ __forceinline__ static Quad<float> quad([[maybe_unused]] const Work& work, const Quad<float>& x,\n"
        "    [[maybe_unused]] Quad<float>* states, [[maybe_unused]] uint64_t i)");
    out_.line("[[maybe_unused]] const Settings& settings = work.launch.codec;");
    out_.line("[[maybe_unused]] const uint64_t n = work.segment.n;");
    write_tensor();
    write_elements(plan_.passes.front().phases.front());
    out_.close();
    out_.close(";");
    out_.line("");
    out_.forget_line();
  }

 private:
  void write_tensor() {
    for (const ValueId id : plan_.passes.front().of_tensor) {
      const Value& value = graph_[id];
      if (!text_.has_line(id)) continue;
      define(id, value.kind == Value::Kind::kParameter ? parameter(value)
                 : value.kind == Value::Kind::kCount   ? count(value)
                                                       : text_.definition(id));
    }
  }

  void write_elements(const Phase& phase) {
    for (const ValueId id : phase.elements) {
      const Value& value = graph_[id];
      if (!is_random(value)) continue;
      out_.line("const Quad<uint32_t> drawn" + std::to_string(id) + " = RandomQuads(work.random(), " +
                std::to_string(value.purpose) + ").quad(i);");
    }
    out_.line("Quad<float> gradient;");
    out_.line("#pragma unroll");
    out_.open("for (uint32_t k = 0; k < 4; ++k)");
    for (const ValueId id : phase.elements) write_element(id);
    for (const Output& output : phase.stores) {
      const bool state = output.kind == Output::Kind::kState;
      const std::string to = state ? "states[" + std::to_string(output.index) + "]" : "gradient";
      out_.line(to + "[k] = " + text_.bare(output.value) + ";");
    }
    out_.close();
    out_.line("return gradient;");
    out_.forget_line();
  }

  static bool is_random(const Value& value) {
    return value.kind == Value::Kind::kCompute && value.domain == Domain::kElement && value.arguments.empty();
  }

  void write_element(ValueId id) {
    const Value& value = graph_[id];
    if (!text_.has_line(id)) return;
    if (value.kind == Value::Kind::kInput) {
      define(id, "x[k]");
    } else if (value.kind == Value::Kind::kState) {
      define(id, "states[" + std::to_string(value.state) + "][k]");
    } else if (value.kind == Value::Kind::kIndex) {
      define(id, type_text(value.type) + "(i + k)");
    } else if (is_random(value)) {
      const std::string drawn = "drawn" + std::to_string(id) + "[k]";
      define(id, value.op == Op::kRandomUniform ? "uniform(" + drawn + ")" : drawn);
    } else {
      define(id, text_.definition(id));
    }
  }

  const ResultGraph& result_;
  Schedule plan_;
};

}  // namespace

void write_cuda_result(const Program& program, const Lowered& lowered, Writer& out, Diagnostics& diagnostics) {
  CudaResultText(program, *lowered.result, out, diagnostics).write();
}

}  // namespace casync::compll
