// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/decoder.h"

#include "compll/codegen/cuda/routine.h"
#include "compll/codegen/text/operation_text.h"

namespace casync::compll {
namespace {

class CudaDecoderText : CudaRoutine {
 public:
  CudaDecoderText(const Program& program, const CudaDecoder& plan, Writer& out)
      : CudaRoutine(program, plan.values, out), plan_(plan) {
    text_.write_seen_as("Numbers::");
  }

  void write() {
    out_.line("/// From one payload to four neighbours.");
    out_.open("struct Decoder");
    out_.line(std::string("static constexpr bool kRotates = ") + (plan_.rotates ? "true;" : "false;"));
    out_.line("using Sections = codec::Sections;");
    out_.open(
        "__device__ __forceinline__ Decoder(const Settings& of, const Sections& at, const unsigned char* payload,\n"
        "                                   uint64_t elements)\n"
        "      : settings(of), n(elements)");
    for (std::uint32_t i = 0; i < program_.sections.size(); ++i) {
      out_.line(section(i) + " = in_global(payload) + at." + section_word(program_, i) + ";");
    }
    out_.close();
    out_.line("");
    write_asks();
    out_.line("");
    out_.line("/// Those that begin so many elements ahead of `first`.");
    out_.line("template <class Numbers>");
    out_.open("__device__ __forceinline__ Quad<float> quad(uint64_t first, uint32_t ahead, uint32_t rest) const");
    out_.line("[[maybe_unused]] const uint64_t i = first + ahead;");
    if (plan_.rotates) {
      all_there_ = "!Numbers::kIsExact";
      out_.line("const uint64_t at = rest != 0 ? i : 0;  // threads that have nothing to do come here, too");
      write_hadamards();
    }
    write_tensor();
    write_block();
    write_elements();
    out_.close();
    out_.line("");
    out_.line("const Settings& settings;");
    out_.line("uint64_t n;");
    for (std::uint32_t i = 0; i < program_.sections.size(); ++i) {
      out_.line("const unsigned char* " + section(i) + ";");
    }
    out_.close(";");
  }

 private:
  /// Writes prefetches of the payloads: without them, each would wait for memory in turn.
  void write_asks() {
    out_.line("/// The block of threads will read what the payload has of these elements.");
    out_.open(
        "__device__ __forceinline__ static void ask_for([[maybe_unused]] const Sections& at,\n"
        "    [[maybe_unused]] const unsigned char* payload, [[maybe_unused]] uint64_t first,\n"
        "    [[maybe_unused]] uint64_t count)");
    for (std::uint32_t i = 0; i < program_.sections.size(); ++i) {
      const Type& type = program_.sections[i].type;
      const bool of_elements = type.extent && type.extent->kind == Extent::Kind::kElements;
      if (!of_elements || type.element == kTritType) continue;
      out_.line("ask_for_section<" + std::to_string(type.element.bits) + ">(in_global(payload) + at." +
                section_word(program_, i) + ", first, count);");
    }
    out_.close();
  }

  void write_tensor() {
    for (const ValueId id : plan_.of_tensor) {
      const Value& value = graph_[id];
      define(id, value.kind == Value::Kind::kSection     ? load_one(value, "0")
                 : value.kind == Value::Kind::kParameter ? parameter(value)
                 : value.kind == Value::Kind::kCount     ? count(value)
                                                         : text_.definition(id));
    }
  }

  void write_block() {
    if (plan_.has_block_values) out_.line("const uint64_t entry = " + place() + " >> settings.log2_block;");
    for (const ValueId id : plan_.of_block) {
      const Value& value = graph_[id];
      define(id, value.kind == Value::Kind::kSection ? load_one(value, "entry")
                 : value.kind == Value::Kind::kIndex ? type_text(value.type) + "(entry)"
                                                     : text_.definition(id));
    }
  }

  void write_elements() {
    for (const ValueId id : plan_.sections) {
      const Value& value = graph_[id];
      out_.line("const Quad<uint32_t> code" + std::to_string(id) + " = load_quad<" + std::to_string(value.type.bits) +
                ">(" + section(value.section) + ", " + elements_place() + ", rest);");
    }
    for (const CudaAhead& ahead : plan_.ahead) {
      out_.line(quad_type(ahead.id) + rotated(ahead.id) + ";");
      write_ahead(ahead, "Numbers()", [&](ValueId id) { write_element(id); });
    }
    out_.line("Quad<float> given;");
    out_.line("#pragma unroll");
    out_.open("for (uint32_t k = 0; k < 4; ++k)");
    for (const ValueId id : plan_.elements) write_element(id);
    out_.line("given[k] = " + text_.bare(plan_.decode->result) + ";");
    out_.close();
    out_.line("return given;");
    out_.forget_line();
  }

  void write_element(ValueId id) {
    const Value& value = graph_[id];
    if (value.kind == Value::Kind::kSection)
      define(id, from_code(value.type, "code" + std::to_string(id) + "[k]"));
    else if (value.kind == Value::Kind::kIndex)
      define(id, type_text(value.type) + "(i + k)");
    else if (value.kind == Value::Kind::kTransform)
      define(id, rotated_element(id));
    else
      define(id, text_.definition(id));
  }

  /// The index from which sections are read.
  std::string place() const { return plan_.rotates ? "at" : "i"; }
  /// The index for sections of elements, from the first row's place on.
  std::string elements_place() const { return plan_.rotates ? "at, 0" : "first, ahead"; }

  const CudaDecoder& plan_;
};

}  // namespace

void write_cuda_decoder(const Program& program, const CudaDecoder& plan, Writer& out) {
  CudaDecoderText(program, plan, out).write();
}

}  // namespace casync::compll
