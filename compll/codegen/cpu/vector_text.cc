// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/vector_text.h"

#include "compll/codegen/cpu/vector_calls.h"
#include "compll/codegen/cpu/vector_definitions.h"
#include "compll/codegen/cpu/vector_loops.h"
#include "compll/codegen/cpu/vector_names.h"
#include "compll/codegen/text/operation_text.h"
#include "compll/codegen/text/size_text.h"

namespace casync::compll {
namespace {

/// Writes `const size_t size_0 = ...;` for each size of the program.
void define_sizes(const Program& program, Writer& out) {
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    out.line("[[maybe_unused]] const double parameter" + std::to_string(i) + " = v.parameters[" + std::to_string(i) +
             "];");
  }
  for (std::size_t i = 0; i < program.sizes.size(); ++i) {
    out.line("[[maybe_unused]] const size_t size" + std::to_string(i) + " = std::min<size_t>(n, " +
             size_text(*program.sizes[i].value, {VectorNames::in_parameters, VectorNames::size, "", ""}) + ");");
  }
}

/// The lines of a function.
class VectorRoutine {
 public:
  VectorRoutine(const cpu_vector::Routine& plan, Writer& out) : plan_(plan), out_(out) {}

  void write() {
    out_.line("[[maybe_unused]] const size_t n = v.n;");
    out_.line("[[maybe_unused]] Workspace& memory = *v.memory;");
    define_sizes(*plan_.program, out_);
    const bool has_states = plan_.role == cpu_vector::Role::kEncode || plan_.role == cpu_vector::Role::kResult;
    if (has_states) out_.line("static_cast<void>(states);");
    for (const cpu_vector::Item& item : plan_.items) {
      std::visit([&](const auto& each) { write(each); }, item);
    }
    if (plan_.role != cpu_vector::Role::kList) out_.line("hwy::FlushStream();");
    if (plan_.role == cpu_vector::Role::kEncode) {
      out_.line("return " + finite_text(*plan_.program, "finite.result()") + ";");
    }
  }

 private:
  void write(const cpu_vector::Statement& statement) { out_.source_line(statement.at); }
  void write(const cpu_vector::Single& single) {
    out_.line("const " + type_text(single.term->type().element) + " " + values_.name(single.value) + " = " +
              values_.expression(*single.term) + ";");
  }
  void write(const cpu_vector::Definition& definition) {
    std::visit([&](const auto& each) { definitions_.write(each); }, definition);
  }
  void write(const cpu_vector::Call& call) {
    std::visit([&](const auto& each) { calls_.write(each); }, call);
  }
  void write(const cpu_vector::ElementLoop& loop) {
    const bool gives = std::get_if<cpu_vector::ElementLoop>(&plan_.items.back()) == &loop;
    if (gives && plan_.role == cpu_vector::Role::kDecode) out_.line("const Write mode = mode_of(out, n, how);");
    loops_.write(loop);
  }
  void write(const cpu_vector::StoreOne& store) {
    const ScalarType type = plan_.program->sections[store.section].type.element;
    const std::string value = values_.expression(*store.term);
    out_.line(store_function("one", type) + "(" + (type == kBoolType ? "to_uint(" + value + ")" : value) +
              ", sections[" + std::to_string(store.section) + "], 0);");
  }
  void write(const cpu_vector::StoreAll& store) {
    const Type& type = plan_.program->sections[store.section].type;
    if (type.is_over(Extent::Kind::kSized) && type.element != kTritType) {
      return out_.line(store_function("sized", type.element) + "(" + VectorNames::size(type) + ", " +
                       values_.name(store.from) + ", v, " + std::to_string(store.section) + ", sections);");
    }
    out_.line(store_function("all", type.element) + "(" + VectorNames::size(type) + ", " + values_.name(store.from) +
              ", sections[" + std::to_string(store.section) + "]);");
  }
  void write(const cpu_vector::GiveList& list) {
    out_.line("take(" + VectorNames::size(list.term->arguments[0]->type()) + ", " + values_.name(list.places) + ", " +
              values_.values_of(list.values, *list.term) + ");");
  }
  void write(const cpu_vector::GiveCopied& given) {
    out_.line("fill(n, kept<float>(n, " + values_.name(given.from) +
              ", memory), out);  // last: it may be what was read");
  }

  const cpu_vector::Routine& plan_;
  Writer& out_;
  VectorValues values_{plan_, out_};
  VectorDefinitions definitions_{values_, out_};
  VectorCalls calls_{values_, out_};
  VectorLoops loops_{plan_, values_, out_};
};

class VectorText {
 public:
  VectorText(const cpu_vector::Plan& plan, Writer& out) : plan_(plan), program_(*plan.program), out_(out) {}

  void write() {
    write_sized();
    write_encoder(plan_.encode);
    if (plan_.merge) write_encoder(*plan_.merge);
    plan_.decode.role == cpu_vector::Role::kList ? write_list_decoder() : write_decoder();
    if (plan_.result) write_result();
  }

 private:
  void write_routine(const cpu_vector::Routine& routine) {
    VectorRoutine(routine, out_).write();
    out_.close();
    out_.line("");
  }

  void write_sized() {
    out_.open("Elements sized(uint32_t section, const GeneratedVector& v)");
    out_.line("const size_t n = v.n;");
    define_sizes(program_, out_);
    for (std::size_t i = 0; i < program_.sections.size(); ++i) {
      const Type& type = program_.sections[i].type;
      const bool sized = type.is_over(Extent::Kind::kSized) || type.is_over(Extent::Kind::kFixed);
      if (sized) out_.line("if (section == " + std::to_string(i) + ") return " + VectorNames::size(type) + ";");
    }
    out_.line("static_cast<void>(section);");
    out_.line("return n;");
    out_.close();
    out_.line("");
  }

  void write_encoder(const cpu_vector::Routine& routine) {
    out_.open("bool " + routine.name +
              "(const GeneratedVector& v, const Scaled& source, float* added, const GeneratedStates& states,\n"
              "            std::byte* const* sections)");
    write_routine(routine);
  }

  /// Writes one function that finds places and values; the caller uses them.
  void write_list_decoder() {
    out_.line("template <class Take>");
    out_.open("void decode_list(const GeneratedVector& v, const std::byte* const* sections, const Take& take)");
    write_routine(plan_.decode);
    const std::string take =
        "decode_list(v, sections, [&](size_t count, const auto& places, const auto& values) "
        "COMPLL_INLINE {";
    out_.open("void decode(const GeneratedVector& v, const std::byte* const* sections, float* out, Give how)");
    out_.line(take);
    const std::string count = plan_.list_sections != 0 ? "std::min<size_t>(count, v.most_listed)" : "count";
    out_.line(std::string("  give_scattered<") + (plan_.has_distinct_places ? "true" : "false") + ">(v.n, " + count +
              ", places, values, out, how, *v.memory);");
    out_.line("});");
    out_.close();
    out_.line("");
    out_.open("ListedVector list(const GeneratedVector& v, const std::byte* const* sections)");
    out_.line("ListedVector listed;");
    out_.line(take);
    out_.line("  listed = listed_vector(" + count + ", places, values, *v.memory);");
    out_.line("});");
    out_.line("return listed;");
    out_.close();
    out_.line("");
  }

  void write_decoder() {
    out_.open("void decode(const GeneratedVector& v, const std::byte* const* sections, float* out, Give how)");
    write_routine(plan_.decode);
  }

  void write_result() {
    out_.open("void result(const GeneratedVector& v, const float* values, const GeneratedStates& states, float* out)");
    write_routine(*plan_.result);
  }

  const cpu_vector::Plan& plan_;
  const Program& program_;
  Writer& out_;
};

}  // namespace

void write_vector(const cpu_vector::Plan& plan, Writer& out) { VectorText(plan, out).write(); }

}  // namespace casync::compll
