// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/rounds_text.h"

#include "compll/codegen/cpu/rounds_items.h"
#include "compll/codegen/cpu/rounds_names.h"
#include "compll/codegen/text/operation_text.h"
#include "compll/codegen/text/size_text.h"
#include "compll/lang/terms.h"

namespace casync::compll {
namespace {

class RoundsText {
 public:
  RoundsText(const cpu_turns::Plan& plan, Writer& out) : program_(*plan.program), plan_(plan), out_(out) {}

  void write() {
    write_sized();
    for (const cpu_turns::Turn& turn : plan_.turns) write_turn(turn);
    out_.open("void turn(uint32_t number, const GeneratedVector& v, const GeneratedTurn& t)");
    for (std::size_t turn = 0; turn < plan_.turns.size(); ++turn) {
      out_.line("if (number == " + std::to_string(turn) + ") turn_" + std::to_string(turn) + "(v, t);");
    }
    out_.close();
    out_.line("");
  }

 private:
  const Type& type_of(VariableId id) const { return program_.variables[id].type; }

  /// Floats that so many elements take, up to the begin of the next array.
  static std::string floats(const Type& type) {
    return "scratch_floats<" + type_text(type.element) + ">(" + RoundsNames::size(type) + ")";
  }

  /// `const size_t size0 = ...;` for each size of the program.
  void define_sizes() {
    const auto parameter = [](ParameterId id) { return "v.parameters[" + std::to_string(id) + "]"; };
    for (std::size_t i = 0; i < program_.sizes.size(); ++i) {
      out_.line("[[maybe_unused]] const size_t size" + std::to_string(i) + " = std::min<size_t>(v.n, " +
                size_text(*program_.sizes[i].value, {parameter, RoundsNames::size, "v.rows", "v.columns"}) + ");");
    }
  }

  void write_sized() {
    const RoundsPlan& rounds = plan_.rounds;
    out_.open("Elements sized(uint32_t what, const GeneratedVector& v)");
    define_sizes();
    for (std::size_t i = 0; i < rounds.exchanged.size(); ++i) {
      out_.line("if (what == " + std::to_string(i) + ") return " + RoundsNames::size(type_of(rounds.exchanged[i])) +
                ";");
    }
    std::string states = "0", scratch = "0";
    for (const ProgramState& state : program_.states) {
      states += " + " + RoundsNames::size({kFloatType, state.extent});
    }
    for (const VariableId id : rounds.stored) scratch += " + " + floats(type_of(id));
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

  void write_turn(const cpu_turns::Turn& turn) {
    out_.open("void turn_" + std::to_string(turn.number) +
              "([[maybe_unused]] const GeneratedVector& v, const GeneratedTurn& t)");
    out_.line("[[maybe_unused]] Workspace& memory = *v.memory;");
    define_sizes();
    define_places();
    RoundsItems(turn, out_).write();
    out_.close();
    out_.line("");
  }

  void define_places() {
    std::string before = "0";
    const auto define = [&](const std::string& place, const std::string& floats) {
      out_.line("[[maybe_unused]] const size_t " + place + " = " + before + ";");
      before = place + " + " + floats;
    };
    for (std::size_t i = 0; i < program_.states.size(); ++i) {
      define(RoundsNames::state(i), RoundsNames::size({kFloatType, program_.states[i].extent}));
    }
    before = "0";
    for (std::size_t i = 0; i < plan_.rounds.stored.size(); ++i) {
      define(RoundsNames::scratch(i), floats(type_of(plan_.rounds.stored[i])));
    }
  }

  const Program& program_;
  const cpu_turns::Plan& plan_;
  Writer& out_;
};

}  // namespace

void write_rounds(const cpu_turns::Plan& plan, Writer& out) { RoundsText(plan, out).write(); }

}  // namespace casync::compll
