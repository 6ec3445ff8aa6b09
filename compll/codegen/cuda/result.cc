// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/result.h"

#include "compll/codegen/cuda/routine.h"
#include "compll/codegen/text/operation_text.h"

namespace casync::compll {
namespace {

class CudaResultText : CudaRoutine {
 public:
  CudaResultText(const Program& program, const CudaResult& plan, Writer& out)
      : CudaRoutine(program, plan.values, out), plan_(plan) {}

  void write() {
    out_.line("/// From what was decoded and the states to the gradient and the states.");
    out_.open("struct Result");
    out_.line("template <class Work>");
    out_.open(
        "__device__ __forceinline__ static Quad<float> quad([[maybe_unused]] const Work& work, const Quad<float>& x,\n"
        "    [[maybe_unused]] Quad<float>* states, [[maybe_unused]] uint64_t i)");
    out_.line("[[maybe_unused]] const Settings& settings = work.launch.codec;");
    out_.line("[[maybe_unused]] const uint64_t n = work.segment.n;");
    write_tensor();
    write_elements();
    out_.close();
    out_.close(";");
    out_.line("");
    out_.forget_line();
  }

 private:
  void write_tensor() {
    for (const ValueId id : plan_.of_tensor) {
      const Value& value = graph_[id];
      define(id, value.kind == Value::Kind::kParameter ? parameter(value)
                 : value.kind == Value::Kind::kCount   ? count(value)
                                                       : text_.definition(id));
    }
  }

  void write_elements() {
    for (const ValueId id : plan_.drawn) {
      out_.line("const Quad<uint32_t> drawn" + std::to_string(id) + " = RandomQuads(work.random(), " +
                std::to_string(graph_[id].purpose) + ").quad(i);");
    }
    out_.line("Quad<float> gradient;");
    out_.line("#pragma unroll");
    out_.open("for (uint32_t k = 0; k < 4; ++k)");
    for (const ValueId id : plan_.elements) write_element(id);
    for (const Output& output : plan_.stores) {
      const bool state = output.kind == Output::Kind::kState;
      const std::string to = state ? "states[" + std::to_string(output.index) + "]" : "gradient";
      out_.line(to + "[k] = " + text_.bare(output.value) + ";");
    }
    out_.close();
    out_.line("return gradient;");
    out_.forget_line();
  }

  void write_element(ValueId id) {
    const Value& value = graph_[id];
    if (value.kind == Value::Kind::kInput) {
      define(id, "x[k]");
    } else if (value.kind == Value::Kind::kState) {
      define(id, "states[" + std::to_string(value.state) + "][k]");
    } else if (value.kind == Value::Kind::kIndex) {
      define(id, type_text(value.type) + "(i + k)");
    } else if (is_random(value)) {
      define(id, random(value, "drawn" + std::to_string(id) + "[k]"));
    } else {
      define(id, text_.definition(id));
    }
  }

  const CudaResult& plan_;
};

}  // namespace

void write_cuda_result(const Program& program, const CudaResult& plan, Writer& out) {
  CudaResultText(program, plan, out).write();
}

}  // namespace casync::compll
