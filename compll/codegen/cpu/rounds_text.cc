// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/rounds_text.h"

#include "compll/codegen/cpu/rounds_routine.h"
#include "compll/codegen/text/operation_text.h"
#include "compll/ir/rounds/rounds_plan.h"
#include "compll/lang/terms.h"

namespace casync::compll {
namespace {

class RoundsText {
 public:
  RoundsText(const Program& program, Writer& out, Diagnostics& diagnostics)
      : program_(program),
        routine_(*program.synchronize),
        out_(out),
        diagnostics_(diagnostics),
        plan_(plan_rounds(program)) {}

  std::vector<FunctionLoops> write() {
    write_sized();
    for (std::size_t turn = 0; turn < plan_.turns.size(); ++turn) write_turn(turn);
    out_.open("void turn(uint32_t number, const GeneratedVector& v, const GeneratedTurn& t)");
    for (std::size_t turn = 0; turn < plan_.turns.size(); ++turn) {
      out_.line("if (number == " + std::to_string(turn) + ") turn_" + std::to_string(turn) + "(v, t);");
    }
    out_.close();
    out_.line("");
    return std::move(functions_);
  }

 private:
  std::size_t last() const { return plan_.turns.size() - 1; }
  const Type& type_of(VariableId id) const { return program_.variables[id].type; }

  /// Floats that so many elements take, up to the begin of the next array.
  static std::string floats(const Type& type) {
    return "scratch_floats<" + type_text(type.element) + ">(" + RoundsRoutine::size(type) + ")";
  }

  void write_sized() {
    out_.open("Elements sized(uint32_t what, const GeneratedVector& v)");
    RoundsRoutine(program_, {{}, plan_.turns.front().given}, {}, out_, diagnostics_).define_sizes();
    for (std::size_t i = 0; i < plan_.exchanged.size(); ++i) {
      out_.line("if (what == " + std::to_string(i) + ") return " + RoundsRoutine::size(type_of(plan_.exchanged[i])) +
                ";");
    }
    std::string states = "0", scratch = "0";
    for (const ProgramState& state : program_.states) {
      states += " + " + RoundsRoutine::size({kFloatType, state.extent});
    }
    for (const VariableId id : plan_.stored) scratch += " + " + floats(type_of(id));
    const std::vector<ExchangeKind> kinds = exchanges_of(program_);
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      if (kinds[i] == ExchangeKind::kSum) continue;
      out_.line("if (what == kFirstExchangeKind + " + std::to_string(i) + ") return " +
                std::to_string(static_cast<int>(kinds[i])) + ";");
    }
    out_.line("if (what >= kFirstExchangeKind) return 0;");
    out_.line("if (what == kNamesShape) return " + std::string(program_.declares.shape ? "1" : "0") + ";");
    out_.line("if (what == kStateFloats) return " + states + ";");
    out_.line("return " + scratch + ";");
    out_.close();
    out_.line("");
  }

  void write_turn(std::size_t turn) {
    std::vector<VariableId> kept;
    for (std::size_t i = 0; i < plan_.stored.size(); ++i) {
      if (plan_.stored_in[i] == turn) kept.push_back(plan_.stored[i]);
    }
    if (turn == last()) kept.insert(kept.end(), routine_.states_then.begin(), routine_.states_then.end());
    RoundsRoutine text(program_, plan_.turns[turn], kept, out_, diagnostics_);
    out_.open("void turn_" + std::to_string(turn) +
              "([[maybe_unused]] const GeneratedVector& v, const GeneratedTurn& t)");
    out_.line("[[maybe_unused]] Workspace& memory = *v.memory;");
    text.define_sizes();
    define_places();
    bind(text, turn);
    want(text, turn);
    text.write_steps();
    hand_out(text, turn);
    functions_.push_back({"turn " + std::to_string(turn), text.loops});
    out_.close();
    out_.line("");
  }

  void define_places() {
    std::string before = "0";
    for (std::size_t i = 0; i < program_.states.size(); ++i) {
      const std::string place = "state" + std::to_string(i);
      out_.line("[[maybe_unused]] const size_t " + place + " = " + before + ";");
      before = place + " + " + RoundsRoutine::size({kFloatType, program_.states[i].extent});
    }
    before = "0";
    for (std::size_t i = 0; i < plan_.stored.size(); ++i) {
      out_.line("[[maybe_unused]] const size_t " + scratch(i) + " = " + before + ";");
      before = scratch(i) + " + " + floats(type_of(plan_.stored[i]));
    }
  }
  static std::string scratch(std::size_t i) { return "scratch" + std::to_string(i); }
  static std::string exchanged_at(std::size_t i) { return "t.exchanged[" + std::to_string(i) + "]"; }

  void bind(RoundsRoutine& text, std::size_t turn) {
    text.bind(routine_.gradient, "t.gradient");
    for (std::size_t i = 0; i < routine_.states.size(); ++i) {
      text.bind(routine_.states[i], "t.states_in + state" + std::to_string(i));
    }
    for (std::size_t i = 0; i < turn; ++i) text.bind(plan_.exchanged[i], exchanged_at(i));
    for (std::size_t i = 0; i < plan_.stored.size(); ++i) {
      if (plan_.stored_in[i] < turn) text.bind(plan_.stored[i], "t.scratch + " + scratch(i));
    }
  }

  void want(RoundsRoutine& text, std::size_t turn) {
    for (std::size_t i = 0; i < plan_.stored.size(); ++i) {
      if (plan_.stored_in[i] == turn) text.want_at(plan_.stored[i], "t.scratch + " + scratch(i));
    }
    if (turn < last()) {
      const Term& given = *plan_.turns[turn].given;
      if (given.op == Op::kVariable) text.want_at(given.variable, exchanged_at(turn));
      return;
    }
    for (std::size_t i = 0; i < routine_.states_then.size(); ++i) {
      text.want_at(routine_.states_then[i], "t.states_out + state" + std::to_string(i));
    }
  }

  void hand_out(RoundsRoutine& text, std::size_t turn) {
    const Term& given = *plan_.turns[turn].given;
    if (turn < last()) return text.put(given, exchanged_at(turn), "what is exchanged");
    for (std::size_t i = 0; i < routine_.states_then.size(); ++i) {
      text.put(routine_.states_then[i], "t.states_out + state" + std::to_string(i),
               "state `" + program_.states[i].name + "`");
    }
    if (!text.uses(routine_.gradient)) return text.put(given, "t.out", "the result");
    // The result may be in the memory that is read.
    out_.line("float* const made = taken<float>(v.n, memory);");
    text.put(given, "made", "the result");
    out_.line("copy(made, v.n, t.out);");
  }

  const Program& program_;
  const Routine& routine_;
  Writer& out_;
  Diagnostics& diagnostics_;
  RoundsPlan plan_;
  std::vector<FunctionLoops> functions_;
};

}  // namespace

std::vector<FunctionLoops> write_rounds(const Program& program, Writer& out, Diagnostics& diagnostics) {
  return RoundsText(program, out, diagnostics).write();
}

}  // namespace casync::compll
