// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/vector_operators.h"

#include "compll/codegen/cuda/vector_memory.h"
#include "compll/codegen/cuda/vector_names.h"
#include "compll/codegen/cuda/vector_routine.h"
#include "compll/codegen/text/operation_text.h"

namespace casync::compll {

/// Defines the function that a sort goes by.
void CudaOperators::define_before(const Term& sort, const std::string& before) {
  const std::string type = type_text(sort.type().element);
  if (sort.function) text_.values.prepare(*sort.function);
  text_.out.source_line(sort.at);
  text_.out.open("const auto " + before + " = [&](" + type + " a, " + type + " b) -> bool");
  sort.function ? text_.values.write_body(*sort.function, {"a", "b"}, 0) : text_.out.line("return a < b;");
  text_.out.close(";");
}

void CudaOperators::write(const cuda_vector::Apply& call) {
  std::string arguments;
  for (const cuda_vector::Argument& argument : call.arguments) {
    arguments += (arguments.empty() ? "" : ", ") + std::visit([&](const auto& each) { return text(each); }, argument);
  }
  if (call.at) text_.out.source_line(*call.at);
  text_.out.line(call.function + "(" + arguments + ");");
}

std::string CudaOperators::text(const cuda_vector::ShareOf& share) const { return CudaNames::part_of(share.type); }
std::string CudaOperators::text(const cuda_vector::SizeOf& count) const { return CudaNames::size(count.type); }
std::string CudaOperators::text(const cuda_vector::ElementsOf& elements) {
  return text_.definitions.name(elements.array);
}
std::string CudaOperators::text(const Term* value) { return text_.values.scalar(*value); }
std::string CudaOperators::text(const cuda_vector::MemoryOf& memory) const {
  return cuda_space(text_.plan, memory.space, type_text(memory.element));
}
std::string CudaOperators::text(const cuda_vector::StoredIn& stored) const { return "*" + text(stored.memory); }
std::string CudaOperators::text(const cuda_vector::Address& address) const { return cuda_address(text_.plan, address); }
std::string CudaOperators::text(const cuda_vector::BlockOf& block) const { return CudaNames::block_size(block.size); }
std::string CudaOperators::text(const cuda_vector::BeforeOf& before) {
  define_before(*before.sort, before.name);
  return before.name;
}

void CudaOperators::write(const cuda_vector::FillFromLast& work) {
  const Type& type = work.term->type();
  const std::string element = type_text(type.element), name = work.name,
                    last = cuda_space(text_.plan, work.last, "uint32_t");
  const std::string from = text_.works.values(work.values, *work.term);
  const std::string rest =
      work.into ? text_.definitions.name(*work.into) : "[&](uint64_t) { return " + element + "(0); }";
  text_.out.source_line(work.term->at);
  text_.out.line("const auto " + name + "_values = " + from + ";");
  text_.out.line("const auto " + name + "_rest = " + rest + ";");
  text_.out.open("const auto " + name + "_each = [&](uint64_t i) -> " + element);
  text_.out.line("const uint32_t last = " + last + "[i];");
  text_.out.line("return last != 0 ? " + name + "_values(last - 1) : " + name + "_rest(i);");
  text_.out.close(";");
  const std::string all = "fill(" + CudaNames::part_of(type) + ", " + CudaNames::size(type) + ", ";
  text_.out.line(all + name + "_each, " + cuda_address(text_.plan, work.to) + ");");
  text_.out.line(all + "[](uint64_t) { return 0u; }, " + last + ");");
  text_.out.line("__syncthreads();");
}

void CudaOperators::write(const cuda_vector::Multiply& work) {
  const Term& term = *work.term;
  const cuda_vector::Value& matrix = text_.plan.values[work.matrix];
  std::string from = text_.definitions.name(work.matrix);
  const std::string by = text_.definitions.name(work.vectors);
  text_.out.source_line(term.at);
  if (matrix.fills) {
    const std::string filled = matrix.name + "_filled";
    text_.out.line("float* const " + filled + " = " + cuda_address(text_.plan, *matrix.fills) + ";");
    from = "Filling{" + from + ", " + filled + "}";
  }
  const bool of_rows = term.form == MatmulForm::kOfRows;
  text_.out.line(std::string(of_rows ? "products_of_rows" : "products_of_columns") + "(part, n, " + from + ", " +
                 CudaNames::size(text_.plan.values[work.vectors].type) + ", " + by + ", " +
                 CudaNames::size(term.type()) + ", " + cuda_address(text_.plan, work.to) + ");");
}

}  // namespace casync::compll
