// SPDX-License-Identifier: Apache-2.0
//
// The text of a routine's stages: names and values, where a step refers to them.
#include <algorithm>
#include <cctype>

#include "compll/codegen/cuda_terms.h"
#include "compll/codegen/cuda_whole_routine.h"
#include "compll/codegen/operation_text.h"
#include "compll/lang/terms.h"

namespace casync::compll {

bool CudaWholeRoutine::has_word(const std::string& text, const std::string& word) {
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

std::string CudaWholeRoutine::name_of_variable(VariableId id) {
  if (const auto own = in_body_.find(id); own != in_body_.end()) return own->second;
  const Planned& planned = values_.at(id);
  if (defined_.insert(planned.name).second) planned.define();
  return planned.name;
}

std::string CudaWholeRoutine::name_of_term(const Term& term) {
  const Planned& planned = reduces_array(term) ? reductions_.at(&term) : terms_.at(&term);
  if (defined_.insert(planned.name).second) planned.define();
  return planned.name;
}

std::string CudaWholeRoutine::array(const Term& term) {
  return term.op == Op::kVariable ? name_of_variable(term.variable) : name_of_term(term);
}

std::string CudaWholeRoutine::scalar(const Term& term) {
  prepare(term);
  return expression(term);
}

/// Defines the names that a value refers to: lines that cannot stand within it.
void CudaWholeRoutine::prepare(const Term& term) {
  if (term.op == Op::kSize) return;
  if (term.op == Op::kVariable) {
    if (values_.count(term.variable) != 0) name_of_variable(term.variable);
    return;
  }
  if (reduces_array(term)) {
    name_of_term(term);
    return;
  }
  for (const TermPtr& argument : term.arguments) {
    argument->type().is_array() ? static_cast<void>(array(*argument)) : prepare(*argument);
  }
}

void CudaWholeRoutine::define_in_body(VariableId id, const std::string& value) {
  if (uses_[id] == 0) return;
  if (value.find_first_of("( ") == value.npos) {
    in_body_[id] = value;
    return;
  }
  const std::string name = program_.variables[id].name + "_" + std::to_string(id);
  out_.line("const " + type_text(program_.variables[id].type.element) + " " + name + " = " + value + ";");
  in_body_[id] = name;
}

void CudaWholeRoutine::write_body(const Body& body, const std::vector<std::string>& arguments, std::size_t result) {
  const std::map<VariableId, std::string> outside = in_body_;
  // Leaves out steps that only other results need.
  std::set<VariableId> needed;
  const auto need = [&](const Term& term) {
    for_each_term(term, [&](const Term& each) {
      if (each.op == Op::kVariable) needed.insert(each.variable);
    });
  };
  need(*body.results[result]);
  for (std::size_t i = body.steps.size(); i-- > 0;) {
    if (needed.count(body.steps[i].variables.front()) != 0) need(*body.steps[i].value);
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (needed.count(body.parameters[i]) != 0) define_in_body(body.parameters[i], arguments[i]);
  }
  for (const Step& step : body.steps) {
    if (needed.count(step.variables.front()) == 0) continue;
    const std::string value = expression(*step.value);
    if (value.find_first_of("( ") != value.npos) out_.source_line(step.value->at);
    define_in_body(step.variables.front(), value);
  }
  out_.line("return " + expression(*body.results[result]) + ";");
  in_body_ = outside;
}

std::string CudaWholeRoutine::expression(const Term& term) {
  switch (term.op) {
    case Op::kConstant: return cuda_literal(term.type().element, term.number);
    case Op::kVariable: return name_of_variable(term.variable);
    case Op::kReduce:
    case Op::kKthLargest: return name_of_term(term);
    case Op::kParameter:
      return "static_cast<" + type_text(term.type().element) + ">(" + parameter(term.parameter) + ")";
    case Op::kSize: return "static_cast<uint32_t>(" + size(term.arguments.front()->type()) + ")";
    case Op::kRows: return "static_cast<uint32_t>(n.rows)";
    case Op::kColumns: return "static_cast<uint32_t>(n.columns)";
    case Op::kRandomBits: return "random_bits(random, i, " + std::to_string(term.purpose) + ")";
    case Op::kRandomUniform: return "uniform(random_bits(random, i, " + std::to_string(term.purpose) + "))";
    case Op::kElement: {
      const Term& of = *term.arguments[0];
      return "element(" + size(of.type()) + ", " + array(of) + ", " +
             cuda_conversion(term.arguments[1]->type().element, term.arguments[1]->type().element,
                             expression(*term.arguments[1])) +
             ")";
    }
    case Op::kConvert:
      return cuda_conversion(term.arguments[0]->type().element, term.type().element, expression(*term.arguments[0]));
    default: break;
  }
  if (!is_scalar(term.op)) refuse(term.at, "`" + std::string(name_of(term.op)) + "` here");
  std::vector<std::string> operands;
  for (const TermPtr& argument : term.arguments) operands.push_back(expression(*argument));
  return cuda_operation(term.op, term.arguments.back()->type().element, operands);
}

/// Writes the layout of a segment's memory: first the memory that the last tile clears, then the rest of the zeros.
void CudaWholeRoutine::write_memory() {
  out_.line("/// The memory of a segment: what has to be zero before and is so afterwards comes first.");
  std::vector<std::string> members = {"uint64_t cleared, zeroed, all;"};
  for (const Place& place : memory_) members.push_back("uint64_t " + place.word + ";");
  write_measures(program_, "Memory", members, out_, [&] {
    const bool tiles =
        std::any_of(memory_.begin(), memory_.end(), [](const Place& each) { return has_word(each.bytes, "tiles"); });
    if (tiles) out_.line("const uint64_t tiles = tiles_for(n, tile_elements(settings));");
    out_.line("Places places;");
    out_.line("places.take(sizeof(Control));");
    const std::pair<Zeros, const char*> ends[] = {
        {Zeros::kCleared, "cleared"}, {Zeros::kByStep, "zeroed"}, {Zeros::kNone, "all"}};
    for (const auto& [zeros, end] : ends) {
      for (const Place& place : memory_) {
        if (place.zeros == zeros) out_.line(place.word + " = places.take(" + place.bytes + ");");
      }
      out_.line(std::string(end) + " = places.end();");
    }
  });
}

void CudaWholeRoutine::write_measures(const Program& program, const std::string& name,
                                      const std::vector<std::string>& members, Writer& out,
                                      const std::function<void()>& body) {
  out.open("struct " + name);
  for (const std::string& member : members) out.line(member);
  out.line("");
  out.open("COMPLL_BOTH " + name + "([[maybe_unused]] " + declared_n(program) +
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
void CudaWholeRoutine::write_lengths(const Program& program, const std::string& text, Writer& out) {
  for (std::size_t i = 0; i < program.sizes.size(); ++i) {
    const std::string name = "size" + std::to_string(i);
    if (has_word(text, name)) out.line("const uint64_t " + name + " = lengths." + name + ";");
  }
}

/// Writes a struct of values that stages read again and again.
void CudaWholeRoutine::write_geometry() {
  const std::string other = program_.synchronize ? "Layout layout" : "Sections sections";
  const std::string name = other.substr(other.find(' ') + 1);
  out_.line("/// What follows from a segment's size: one thread works it out for all of its block.");
  out_.open("struct Geometry");
  out_.line("Lengths lengths;");
  out_.line("Memory at;");
  out_.line(other + ";");
  out_.line("");
  out_.line("COMPLL_BOTH Geometry(" + declared_n(program_) + ", const Settings& settings)");
  out_.line("    : lengths(n, settings), at(n, settings, lengths), " + name + "(n, settings, lengths) {}");
  const std::string n = program_.synchronize ? "Matrix{segment.rows, segment.columns}" : "segment.n";
  out_.open("__device__ static Geometry of(const Segment& segment, const Settings& settings)");
  out_.line("return {" + n + ", settings};");
  out_.close();
  out_.close(";");
}

void CudaWholeRoutine::write(const std::string& name, const std::string& constants, const std::function<void()>& end) {
  for (const auto& text : function_texts_) {
    text();
    out_.line("");
  }
  out_.open("struct " + name);
  out_.line("static constexpr uint32_t kStages = " + std::to_string(stages_) + constants + ";");
  out_.line("");
  write_memory();
  out_.line("");
  write_geometry();
  const bool decodes = &routine_ == &program_.decode;
  for (std::uint32_t stage = 0; stage < stages_; ++stage) {
    const bool is_end = stage + 1 == stages_;
    out_.line("");
    out_.forget_line();
    defined_.clear();
    out_.open("__device__ static void stage_" + std::to_string(stage) + "(Part& part" +
              (decodes ? ", [[maybe_unused]] const unsigned char* payload" : "") + ")");
    const std::size_t begin = out_.size();
    write_steps(stage);
    out_.line("if (!part.is_last()) return;");
    for (const StageStep& step : steps_) {
      if (step.stage == stage && step.finish) step.finish();
    }
    if (is_end) end();
    out_.line("part.end_turn();");
    const std::string body = out_.cut(begin);
    write_preamble(body);
    out_.append(body);
    out_.close();
  }
  out_.line("");
  out_.open("__device__ static void stage([[maybe_unused]] uint32_t number, Part& part" +
            std::string(decodes ? ", const unsigned char* payload" : "") + ")");
  for (std::uint32_t stage = 0; stage < stages_; ++stage) {
    const std::string number = std::to_string(stage);
    out_.line((stage + 1 == stages_ ? "" : "if (number == " + number + ") ") + std::string("return stage_") + number +
              "(part" + (decodes ? ", payload" : "") + ");");
  }
  out_.close();
  out_.close(";");
}

/// Writes the steps of a stage. If several steps at its beginning go through the tile, they do so piece by piece, one
/// piece after the other.
void CudaWholeRoutine::write_steps(std::uint32_t stage) {
  std::vector<const StageStep*> steps;
  for (const StageStep& step : steps_) {
    if (step.stage == stage) steps.push_back(&step);
  }
  const auto whole = std::find_if(steps.begin(), steps.end(), [](const StageStep* each) { return each->piece == 0; });
  std::uint32_t piece = 0;
  for (auto step = steps.begin(); step != whole; ++step) piece = std::max(piece, (*step)->piece);
  const bool in_pieces = whole - steps.begin() > 1 && !program_.synchronize;
  if (in_pieces) {
    const std::string size = (piece == 1 ? "" : std::to_string(piece) + " * ") + "tile_elements(settings)";
    out_.line("part.take_piece(" + size + ");");
    out_.open("do");
    for (auto step = steps.begin(); step != whole; ++step) (*step)->write();
    out_.line("__syncthreads();");
    out_.close(" while (part.take_next_piece(" + size + "));");
    defined_.clear();
  }
  for (auto step = in_pieces ? whole : steps.begin(); step != steps.end(); ++step) (*step)->write();
}

/// Writes the definitions that the lines of a stage refer to.
void CudaWholeRoutine::write_preamble(const std::string& lines) {
  const std::size_t begin = out_.size();
  for (const auto& [name, made_of] : searches_) {
    if (has_word(lines, name)) out_.line("const Search " + name + made_of + ";");
  }
  const std::string searches = out_.cut(begin), body = searches + lines;
  if (has_word(body, "settings")) out_.line("const Settings& settings = part.launch.codec;");
  if (has_word(body, "n")) {
    out_.line(program_.synchronize ? "const Matrix n = part.matrix();" : "const uint64_t n = part.n;");
  }
  const std::string other = program_.synchronize ? "layout" : "sections";
  bool has_any = has_word(body, "at") || has_word(body, other);
  for (std::size_t i = 0; i < program_.sizes.size(); ++i) has_any |= has_word(body, "size" + std::to_string(i));
  if (has_any) out_.line("const auto& [lengths, at, " + other + "] = part.geometry<Geometry>();");
  write_lengths(program_, body, out_);
  if (has_word(body, "random")) out_.line("RandomWords random(part.random());");
  out_.append(searches);
}

}  // namespace casync::compll
