// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/vector_stages.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "compll/codegen/cuda/vector_memory.h"
#include "compll/codegen/cuda/vector_names.h"
#include "compll/codegen/cuda/vector_routine.h"

namespace casync::compll {

bool CudaStages::decodes() const { return text_.plan.role == cuda_vector::Role::kDecode; }

bool CudaStages::has_word(const std::string& text, const std::string& word) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const std::size_t line = text.rfind('\n', at) + 1;
    const bool in_comment = text.find("// ", line) < at;
    const bool begins = at == 0 || (!is_part(text[at - 1]) && text[at - 1] != '.');
    if (!in_comment && begins && (end == text.size() || !is_part(text[end]))) return true;
  }
  return false;
}

/// Writes the layout of a segment's memory: first the memory that the last tile clears, then the rest of the zeros.
void CudaStages::write_memory() {
  using cuda_vector::Space;
  using cuda_vector::Zeros;
  const std::vector<Space>& workspace = text_.plan.workspace;
  text_.out.line(
      "/// The memory of a segment: first the part that has to be zero at the start, and is zero again at the end.");
  std::vector<std::string> members = {"uint64_t cleared, zeroed, all;"};
  for (const Space& space : workspace) members.push_back("uint64_t " + space.word + ";");
  write_measures(text_.program, "Memory", members, text_.out, [&] {
    const bool tiles = std::any_of(workspace.begin(), workspace.end(), [](const Space& each) {
      return each.count == Space::Count::kTiles || each.count == Space::Count::kWarps;
    });
    if (tiles) text_.out.line("const uint64_t tiles = tiles_for(n, tile_elements(settings));");
    text_.out.line("Places places;");
    text_.out.line("places.take(sizeof(Control));");
    const std::pair<Zeros, const char*> ends[] = {
        {Zeros::kCleared, "cleared"}, {Zeros::kByStep, "zeroed"}, {Zeros::kNone, "all"}};
    for (const auto& [zeros, end] : ends) {
      for (const Space& space : workspace) {
        if (space.zeros == zeros) text_.out.line(space.word + " = places.take(" + cuda_space_bytes(space) + ");");
      }
      text_.out.line(std::string(end) + " = places.end();");
    }
  });
}

void CudaStages::write_measures(const Program& program, const std::string& name,
                                const std::vector<std::string>& members, Writer& out,
                                const std::function<void()>& body) {
  out.open("struct " + name);
  for (const std::string& member : members) out.line(member);
  out.line("");
  out.open("COMPLL_BOTH " + name + "([[maybe_unused]] " + CudaNames::declared_n(program) +
           ", [[maybe_unused]] const Settings& settings,\n      [[maybe_unused]] const Lengths& lengths)");
  const std::size_t begin = out.size();
  body();
  const std::string text = out.cut(begin);
  write_lengths(program, text, out);
  out.append(text);
  out.close();
  out.close(";");
}

/// Writes definitions of the lengths that a text refers to.
void CudaStages::write_lengths(const Program& program, const std::string& text, Writer& out) {
  for (std::size_t i = 0; i < program.sizes.size(); ++i) {
    const std::string name = "size" + std::to_string(i);
    if (has_word(text, name)) out.line("const uint64_t " + name + " = lengths." + name + ";");
  }
}

/// Writes a struct of values that stages read again and again.
void CudaStages::write_geometry() {
  const std::string other = text_.program.synchronize ? "Layout layout" : "Sections sections";
  const std::string name = other.substr(other.find(' ') + 1);
  text_.out.line("/// The values that follow from a segment's size: one thread computes them for all of its block.");
  text_.out.open("struct Geometry");
  text_.out.line("Lengths lengths;");
  text_.out.line("Memory at;");
  text_.out.line(other + ";");
  text_.out.line("");
  text_.out.line("COMPLL_BOTH Geometry(" + CudaNames::declared_n(text_.program) + ", const Settings& settings)");
  text_.out.line("    : lengths(n, settings), at(n, settings, lengths), " + name + "(n, settings, lengths) {}");
  const std::string n = text_.program.synchronize ? "Matrix{segment.rows, segment.columns}" : "segment.n";
  text_.out.open("__device__ static Geometry of(const Segment& segment, const Settings& settings)");
  text_.out.line("return {" + n + ", settings};");
  text_.out.close();
  text_.out.close(";");
}

void CudaStages::write(const std::string& name, const std::string& constants, const std::vector<std::string>& last) {
  text_.out.open("struct " + name);
  text_.out.line("static constexpr uint32_t kStages = " + std::to_string(text_.plan.stages.size()) + constants + ";");
  text_.out.line("");
  text_.values.write_functions();
  write_memory();
  text_.out.line("");
  write_geometry();
  for (std::size_t stage = 0; stage < text_.plan.stages.size(); ++stage) write_stage(stage, last);
  text_.out.line("");
  write_dispatch();
  text_.out.close(";");
}

void CudaStages::write_stage(std::size_t number, const std::vector<std::string>& last) {
  const cuda_vector::Stage& stage = text_.plan.stages[number];
  text_.out.line("");
  text_.out.forget_line();
  text_.definitions.forget();
  text_.out.open("__device__ static void stage_" + std::to_string(number) + "(Part& part" +
                 (decodes() ? ", [[maybe_unused]] const unsigned char* payload" : "") + ")");
  const std::size_t begin = text_.out.size();
  write_works(stage);
  text_.out.line("if (!part.is_last()) return;");
  for (const cuda_vector::Work& work : stage.at_end) text_.works.write(work);
  if (number + 1 == text_.plan.stages.size()) {
    for (const std::string& line : last) text_.out.line(line);
    text_.out.line("part.clear(at.cleared);");
  }
  text_.out.line("part.end_stage();");
  const std::string body = text_.out.cut(begin);
  write_preamble(body);
  text_.out.append(body);
  text_.out.close();
}

/// Writes the function that runs a stage by its number.
void CudaStages::write_dispatch() {
  text_.out.open("__device__ static void stage([[maybe_unused]] uint32_t number, Part& part" +
                 std::string(decodes() ? ", const unsigned char* payload" : "") + ")");
  for (std::size_t stage = 0; stage < text_.plan.stages.size(); ++stage) {
    const std::string number = std::to_string(stage);
    const bool is_last = stage + 1 == text_.plan.stages.size();
    text_.out.line((is_last ? "" : "if (number == " + number + ") ") + std::string("return stage_") + number + "(part" +
                   (decodes() ? ", payload" : "") + ");");
  }
  text_.out.close();
}

void CudaStages::write_works(const cuda_vector::Stage& stage) {
  if (!stage.by_pieces.empty()) {
    const std::string size = (stage.piece == 1 ? "" : std::to_string(stage.piece) + " * ") + "tile_elements(settings)";
    text_.out.line("part.take_piece(" + size + ");");
    text_.out.open("do");
    for (const cuda_vector::Work& work : stage.by_pieces) text_.works.write(work);
    text_.out.line("__syncthreads();");
    text_.out.close(" while (part.take_next_piece(" + size + "));");
    text_.definitions.forget();
  }
  for (const cuda_vector::Work& work : stage.at_once) text_.works.write(work);
}

/// The definitions of the searches that the lines refer to, in the order of their names.
std::string CudaStages::searches_in(const std::string& lines) {
  std::map<std::string, std::string> searches;
  for (const cuda_vector::Search& search : text_.plan.searches) {
    searches[CudaSelection::name_of(search)] = text_.selection.initializer(search);
  }
  const std::size_t begin = text_.out.size();
  for (const auto& [name, made_of] : searches) {
    if (has_word(lines, name)) text_.out.line("const Search " + name + made_of + ";");
  }
  return text_.out.cut(begin);
}

/// Writes the definitions that the lines of a stage refer to.
void CudaStages::write_preamble(const std::string& lines) {
  const std::string searches = searches_in(lines), body = searches + lines;
  if (has_word(body, "settings")) text_.out.line("const Settings& settings = part.launch.codec;");
  if (has_word(body, "n")) {
    text_.out.line(text_.program.synchronize ? "const Matrix n = part.matrix();" : "const uint64_t n = part.n;");
  }
  const std::string other = text_.program.synchronize ? "layout" : "sections";
  bool has_any = has_word(body, "at") || has_word(body, other);
  for (std::size_t i = 0; i < text_.program.sizes.size(); ++i) has_any |= has_word(body, "size" + std::to_string(i));
  if (has_any) text_.out.line("const auto& [lengths, at, " + other + "] = part.geometry<Geometry>();");
  write_lengths(text_.program, body, text_.out);
  if (has_word(body, "random")) text_.out.line("RandomWords random(part.random());");
  text_.out.append(searches);
}

}  // namespace casync::compll
