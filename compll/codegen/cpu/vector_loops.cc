// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/vector_loops.h"

#include <algorithm>
#include <variant>

#include "compll/codegen/cpu/vector_calls.h"
#include "compll/codegen/cpu/vector_definitions.h"
#include "compll/codegen/cpu/vector_names.h"
#include "compll/codegen/text/operation_text.h"
#include "compll/ir/vector/cpu/singles.h"

namespace casync::compll {

using cpu_vector::BlockWork;
using cpu_vector::ElementWork;
using cpu_vector::Work;

std::string store_function(const std::string& what, ScalarType type) {
  if (type != kTritType) return "store_" + what + "<" + std::to_string(type.bits) + ">";
  return what == "one" ? "store_one_trit" : what == "all" ? "store_all_trits" : "store_trits_at";
}

void VectorLoops::write(const cpu_vector::ElementLoop& loop) {
  loop.has_tiles() ? write_tiles(loop) : write_elements(loop, 0, "0", "n");
}

void VectorLoops::write_elements(const cpu_vector::ElementLoop& loop, std::size_t phase, const std::string& begin,
                                 const std::string& end) {
  const auto is_here = [&](const Work& work) {
    return work.phase == phase && std::holds_alternative<ElementWork>(work.what);
  };
  if (std::none_of(loop.works.begin(), loop.works.end(), is_here)) return;
  const std::string number = std::to_string(loop.number);
  out_.open("for_groups(" + begin + ", " + end + ", [&](size_t at, auto rest) COMPLL_INLINE");
  out_.line("const Sixteen<" + number + ", decltype(rest)> i{at, rest};");
  for (const Work& work : loop.works) {
    if (is_here(work)) std::visit([&](const auto& each) { write_work(each); }, std::get<ElementWork>(work.what));
  }
  if (phase == loop.fetches_in) {
    for (const cpu_vector::Id array : loop.fetched) out_.line(name(array) + ".fetch(at + tile" + number + ");");
  }
  out_.close(");");
}

void VectorLoops::write_blocks(const cpu_vector::ElementLoop& loop, std::size_t phase) {
  for (const Work& work : loop.works) {
    const auto* blocks = std::get_if<BlockWork>(&work.what);
    if (work.phase != phase || blocks == nullptr) continue;
    out_.line(std::visit([&](const auto& each) { return block_text(each, loop.number); }, *blocks));
  }
}

void VectorLoops::write_tiles(const cpu_vector::ElementLoop& loop) {
  std::string sizes;
  for (const Constant& block : loop.blocks) sizes += (sizes.empty() ? "" : ", ") + VectorNames::block_size(block);
  const std::string tile = "tile" + std::to_string(loop.number);
  out_.line("const size_t " + tile + " = tile_of({" + sizes + "});");
  out_.open("for (size_t begin = 0; begin < n; begin += " + tile + ")");
  out_.line("const size_t end = std::min(begin + " + tile + ", n);");
  for (std::size_t phase = 0; phase < loop.phases; ++phase) {
    write_elements(loop, phase, "begin", "end");
    write_blocks(loop, phase);
  }
  out_.close();
}

void VectorLoops::write_work(const cpu_vector::TakeInput& work) {
  out_.line(name(work.array) + ".keep(i);");
  out_.line("finite.take(" + at(work.array) + ", i.rest);");
}

void VectorLoops::write_work(const cpu_vector::KeepElements& work) { out_.line(name(work.array) + ".keep(i);"); }

void VectorLoops::write_work(const cpu_vector::CopyElements& work) {
  const std::string to = memory_of(values_, work.copy), value = at(work.copy.from);
  const std::string type = work.copy.scatter ? values_.element(*work.copy.scatter) : "float";
  out_.line(type == "float" ? "put(" + value + ", " + to + ", " + to + "_mode, i);"
                            : "store_group<" + type + ">(" + value + ", " + to + " + i.first, i.rest);");
}

void VectorLoops::write_work(const cpu_vector::FeedSearch& work) {
  out_.line(name(work.search) + ".take(" + at(work.key) + ", i);");
}

void VectorLoops::write_work(const cpu_vector::FeedReducer& work) {
  const std::string to = name(work.value);
  out_.line(reduces_in_chunks(*work.term)
                ? "take_in_order(" + to + "_open, " + to + "_chunks, " + at(work.from) + ", i);"
                : to + "_open.take(" + at(work.from) + ", i.rest);");
}

void VectorLoops::write_work(const cpu_vector::StoreCodes& work) {
  const ScalarType type = plan_.program->sections[work.section].type.element;
  out_.line(store_function("codes_at", type) + "(" + at(work.from) + ", sections[" + std::to_string(work.section) +
            "], i);");
}

void VectorLoops::write_work(const cpu_vector::StoreState& work) {
  out_.line("put(" + at(work.from) + ", state" + std::to_string(work.state) + ", Write::kPlain, i);");
}

void VectorLoops::write_work(const cpu_vector::GiveElements& work) {
  out_.line(plan_.role == cpu_vector::Role::kResult
                ? "put(" + at(work.from) + ", out, Write::kPlain, i);  // it may be what was read"
                : "give_sixteen(" + at(work.from) + ", out, how, mode, i);");
}

std::string VectorLoops::block_text(const cpu_vector::ReduceBlocks& work, int loop) {
  const Term& term = *work.term;
  const std::string from = name(work.from);
  const std::string value =
      cpu_vector::reduces_groups(term)
          ? "reduced<" + group_reducer(term) + ", " + std::to_string(loop) + ">(first, last, " + from + ")"
          : values_.reduction(term, "last - first", "[&](size_t k) HWY_ATTR { return " + from + "(first + k); }",
                              work.function);
  return "for_blocks(begin, end, " + VectorNames::block_size(term.block) +
         ", [&](size_t b, [[maybe_unused]] size_t first, [[maybe_unused]] size_t last) COMPLL_INLINE { " +
         name(work.array) + "_at[b] = " + value + "; });";
}

std::string VectorLoops::block_text(const cpu_vector::ComputeBlocks& work, int) {
  return "for_blocks(begin, end, " + VectorNames::block_size(values_.type(work.array).extent->count) +
         ", [&](size_t b, size_t, size_t) COMPLL_INLINE { " + name(work.array) + "_at[b] = " + name(work.from) +
         "(b); });";
}

std::string VectorLoops::block_text(const cpu_vector::RotateBlocks& work, int loop) {
  return "hadamard<" + std::to_string(loop) + ">(begin, end, " + VectorNames::block_size(work.block) + ", " +
         name(work.from) + ", " + name(work.array) + "_at);";
}

}  // namespace casync::compll
