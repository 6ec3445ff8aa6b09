// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/whole_stages.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "compll/codegen/cuda/whole_routine.h"

namespace casync::compll {

void CudaStages::add(std::uint32_t stage, std::function<void()> write, std::function<void()> finish) {
  steps_.push_back({stage, std::move(write), std::move(finish), 0});
  stages_ = std::max(stages_, stage + 1);
}

void CudaStages::add_own(std::uint32_t stage, std::function<void()> write, std::function<void()> finish,
                         std::uint32_t chunks) {
  add(stage, std::move(write), std::move(finish));
  steps_.back().piece = chunks;
}

std::string CudaStages::place(const std::string& word, const std::string& bytes, Zeros zeros) {
  memory_.push_back({word, bytes, zeros});
  return "at." + word;
}

void CudaStages::add_first(std::function<void()> write, std::function<void()> finish) {
  steps_.insert(steps_.begin(), {0, std::move(write), std::move(finish), 0});
}

void CudaStages::clear_memory() { text_.out.line("part.clear(at.cleared);"); }

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
  text_.out.line("/// The memory of a segment: what has to be zero before and is so afterwards comes first.");
  std::vector<std::string> members = {"uint64_t cleared, zeroed, all;"};
  for (const Place& place : memory_) members.push_back("uint64_t " + place.word + ";");
  write_measures(text_.program, "Memory", members, text_.out, [&] {
    const bool tiles =
        std::any_of(memory_.begin(), memory_.end(), [](const Place& each) { return has_word(each.bytes, "tiles"); });
    if (tiles) text_.out.line("const uint64_t tiles = tiles_for(n, tile_elements(settings));");
    text_.out.line("Places places;");
    text_.out.line("places.take(sizeof(Control));");
    const std::pair<Zeros, const char*> ends[] = {
        {Zeros::kCleared, "cleared"}, {Zeros::kByStep, "zeroed"}, {Zeros::kNone, "all"}};
    for (const auto& [zeros, end] : ends) {
      for (const Place& place : memory_) {
        if (place.zeros == zeros) text_.out.line(place.word + " = places.take(" + place.bytes + ");");
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
  text_.out.line("/// What follows from a segment's size: one thread works it out for all of its block.");
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

void CudaStages::write(const std::string& name, const std::string& constants, const std::function<void()>& end) {
  text_.values.write_functions();
  text_.out.open("struct " + name);
  text_.out.line("static constexpr uint32_t kStages = " + std::to_string(stages_) + constants + ";");
  text_.out.line("");
  write_memory();
  text_.out.line("");
  write_geometry();
  const bool decodes = &text_.routine == &text_.program.decode;
  for (std::uint32_t stage = 0; stage < stages_; ++stage) {
    const bool is_end = stage + 1 == stages_;
    text_.out.line("");
    text_.out.forget_line();
    text_.plan.defined().clear();
    text_.out.open("__device__ static void stage_" + std::to_string(stage) + "(Part& part" +
                   (decodes ? ", [[maybe_unused]] const unsigned char* payload" : "") + ")");
    const std::size_t begin = text_.out.size();
    write_steps(stage);
    text_.out.line("if (!part.is_last()) return;");
    for (const StageStep& step : steps_) {
      if (step.stage == stage && step.finish) step.finish();
    }
    if (is_end) end();
    text_.out.line("part.end_turn();");
    const std::string body = text_.out.cut(begin);
    write_preamble(body);
    text_.out.append(body);
    text_.out.close();
  }
  text_.out.line("");
  text_.out.open("__device__ static void stage([[maybe_unused]] uint32_t number, Part& part" +
                 std::string(decodes ? ", const unsigned char* payload" : "") + ")");
  for (std::uint32_t stage = 0; stage < stages_; ++stage) {
    const std::string number = std::to_string(stage);
    text_.out.line((stage + 1 == stages_ ? "" : "if (number == " + number + ") ") + std::string("return stage_") +
                   number + "(part" + (decodes ? ", payload" : "") + ");");
  }
  text_.out.close();
  text_.out.close(";");
}

/// Writes the steps of a stage. If several steps at its beginning go through the tile, they do so piece by piece, one
/// piece after the other.
void CudaStages::write_steps(std::uint32_t stage) {
  std::vector<const StageStep*> steps;
  for (const StageStep& step : steps_) {
    if (step.stage == stage) steps.push_back(&step);
  }
  const auto whole = std::find_if(steps.begin(), steps.end(), [](const StageStep* each) { return each->piece == 0; });
  std::uint32_t piece = 0;
  for (auto step = steps.begin(); step != whole; ++step) piece = std::max(piece, (*step)->piece);
  const bool in_pieces = whole - steps.begin() > 1 && !text_.program.synchronize;
  if (in_pieces) {
    const std::string size = (piece == 1 ? "" : std::to_string(piece) + " * ") + "tile_elements(settings)";
    text_.out.line("part.take_piece(" + size + ");");
    text_.out.open("do");
    for (auto step = steps.begin(); step != whole; ++step) (*step)->write();
    text_.out.line("__syncthreads();");
    text_.out.close(" while (part.take_next_piece(" + size + "));");
    text_.plan.defined().clear();
  }
  for (auto step = in_pieces ? whole : steps.begin(); step != steps.end(); ++step) (*step)->write();
}

/// Writes the definitions that the lines of a stage refer to.
void CudaStages::write_preamble(const std::string& lines) {
  const std::size_t begin = text_.out.size();
  for (const auto& [name, made_of] : searches_) {
    if (has_word(lines, name)) text_.out.line("const Search " + name + made_of + ";");
  }
  const std::string searches = text_.out.cut(begin), body = searches + lines;
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
