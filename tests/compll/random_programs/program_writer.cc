// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/random_programs/program_writer.h"

#include <optional>

#include "tests/compll/random_programs/declarations.h"
#include "tests/compll/random_programs/expressions.h"
#include "tests/compll/random_programs/operators.h"
#include "tests/compll/random_programs/routine_text.h"
#include "tests/compll/random_programs/statements.h"
#include "tests/compll/random_programs/typed_checks.h"

namespace casync::compll::test {
namespace {

class ProgramWriter {
 public:
  explicit ProgramWriter(std::uint64_t seed)
      : choices_(seed),
        of_codings_(seed ^ 0x9e3779b97f4a7c15),
        of_selections_(seed ^ 0xd1b54a32d192ed03),
        of_types_(seed ^ 0x94d049bb133111eb),
        for_tiles_(choices_.one_in(2)),
        expressions_(choices_, for_tiles_),
        declared_(random_declarations(choices_, of_codings_, expressions_, for_tiles_)),
        is_typed_(of_types_.one_in(2)),
        sends_double_(is_typed_ && of_types_.one_in(3)),
        sends_sums_(is_typed_ && of_types_.one_in(3)) {
    if (for_tiles_ || !of_selections_.one_in(3)) return;
    static const std::vector<TypeWord> kTypes = {
        {"float", Kind::kFloat}, {"float", Kind::kFloat}, {"uint", Kind::kUint}, {"int5", Kind::kInt}};
    selected_ = of_selections_.of(kTypes);
    sends_count_ = of_selections_.one_in(2);
  }

  std::string write() {
    std::string text = declared_.text;
    text += routine("encode");
    if (choices_.one_in(3)) text += routine("merge");
    text += decode();
    if (choices_.one_in(3)) text += result();
    return is_typed_ ? text + kTypedParameters + typed_.helpers() : text;
  }

 private:
  std::string routine(const std::string& name) {
    text_.begin(true);
    text_.line("void " + name + "(float* g, uint8* compressed) {");
    text_.add_array({"g", "float", kAll, Kind::kFloat, false});
    for (const std::string& state : declared_.states) text_.add_array({state, "float", kAll, Kind::kFloat, false});
    if (selected_) select();
    write_statements(choices_.between(1, 7));
    if (is_typed_) write_typed();
    for (const SectionWord& section : declared_.sections) write_section(section);
    if (selected_) operators_.map("chosen.size", *selected_, "chosen_values");
    write_states();
    std::string sent;
    for (const SectionWord& section : declared_.sections) sent += (sent.empty() ? "" : ", ") + section.sent();
    text_.line("  compressed = concat(" + sent + selected_sections("chosen.size") + typed_sections() + ");\n}");
    return text_.take();
  }

  /// The selection that is sent, ahead of all others: merge sends the same one.
  void select() {
    const bool by_place = of_selections_.one_in(2);
    text_.line(by_place ? "  uint* chosen = filter(range(g.size), [&](uint i) -> bool { return tame(g[i]) > 0.4; });"
                        : "  uint* chosen = where(g, [&](float x) -> bool { return abs(tame(x)) > 0.6; });");
    text_.add_array({"chosen", "uint", "chosen.size", Kind::kUint, true});
  }

  void write_typed() {
    typed_.begin();
    const int count = of_types_.between(1, 3);
    for (int i = 0; i < count; ++i) typed_.write();
    text_.line("  uint checked = " + typed_.number() + ";");
    if (sends_double_) {
      text_.line("  double widest = reduce(map(" + typed_.floats() +
                 ", [&](float x) -> double { return double(x) * x; }), sum);");
    }
    if (sends_sums_) {
      text_.line("  double* wide_sums = block_reduce(" + typed_.floats() + ", " + declared_.blocks.front() + ", sum);");
    }
  }

  std::string typed_sections() const {
    if (!is_typed_) return "";
    return std::string(", checked") + (sends_double_ ? ", widest" : "") + (sends_sums_ ? ", wide_sums" : "");
  }

  void declare_typed() {
    if (!is_typed_) return;
    text_.line("  uint checked;");
    if (sends_double_) text_.line("  double widest;");
    if (sends_sums_) text_.line("  double* wide_sums;");
  }

  /// Returns the gradient that decode gives, with a part of what typed checks have sent.
  std::string with_typed(const std::string& gradient) const {
    const std::string sums = "spread(wide_sums, " + declared_.blocks.front() + ")";
    return "map(" + gradient + (sends_sums_ ? ", " + sums : "") + ", [&](float x" + (sends_sums_ ? ", double s" : "") +
           ") -> float { return x + checked % 8" + (sends_double_ ? " + tame(widest) * 0.001" : "") +
           (sends_sums_ ? " + tame(s)" : "") + "; })";
  }

  std::string selected_sections(const std::string& count) const {
    if (!selected_) return "";
    return (sends_count_ ? ", " + count : "") + ", chosen, chosen_values";
  }

  void declare_selected() {
    if (!selected_) return;
    text_.line("  uint* chosen;\n  " + selected_->text + "* chosen_values;\n  uint chosen_count;");
  }

  void receive_selected() {
    if (!selected_) return;
    text_.add_array({"chosen", "uint", "chosen.size", Kind::kUint, true});
    text_.add_array({"chosen_values", selected_->text, "chosen.size", selected_->kind, false});
    if (sends_count_) text_.add_scalar("chosen_count", Kind::kUint);
  }

  std::string decode() {
    text_.begin(false);
    text_.line("void decode(uint8* compressed, float* g) {");
    std::string sent;
    for (const SectionWord& section : declared_.sections) {
      text_.line("  " + section.type.text + (section.extent.empty() ? " " : "* ") + section.name + ";");
      sent += ", " + section.sent();
    }
    declare_selected();
    declare_typed();
    text_.line("  extract(compressed" + sent + selected_sections("chosen_count") + typed_sections() + ");");
    receive_selected();
    for (const SectionWord& section : declared_.sections) {
      if (section.extent.empty()) {
        text_.add_scalar(section.name, section.type.kind);
      } else {
        text_.add_array({section.name, section.type.text, section.extent, section.type.kind, false});
      }
    }
    write_statements(choices_.between(0, 4));
    if (selected_ && selected_->text == "float" && of_selections_.one_in(2)) {
      text_.line("  g = scatter(chosen, chosen_values, g.size);");
    } else if (declared_.is_list) {
      text_.line("  g = scatter(sent_places, sent_values, g.size);");
    } else {
      write_gradient(is_typed_);
    }
    text_.line("}");
    return text_.take();
  }

  std::string result() {
    text_.begin(true);
    text_.line("void result(float* d, float* g) {");
    text_.add_array({"d", "float", kAll, Kind::kFloat, false});
    for (const std::string& state : declared_.states) text_.add_array({state, "float", kAll, Kind::kFloat, false});
    write_statements(choices_.between(0, 3));
    write_states();
    write_gradient(false);
    text_.line("}");
    return text_.take();
  }

  void write_statements(int count) {
    if (declared_.folds) operators_.write_fold();
    for (int i = 0; i < count; ++i) {
      if (!for_tiles_ && of_selections_.one_in(6)) operators_.write_selection();
      statements_.write_any();
    }
  }

  void write_section(const SectionWord& section) {
    if (section.extent.empty()) {
      const std::string value = section.type.kind == Kind::kBool ? expressions_.condition(text_.outside(), 2)
                                                                 : expressions_.number(text_.outside(), 3).text;
      return text_.line("  " + section.type.text + " " + section.name + " = " + value + ";");
    }
    if (!section.gathered_at.empty()) {
      return text_.line("  " + section.type.text + "* " + section.name + " = gather(g, " + section.gathered_at + ");");
    }
    if (section.places) return static_cast<void>(operators_.places(section.extent, section.name));
    operators_.map(section.extent, section.type, section.name);
  }

  void write_states() {
    for (const std::string& state : declared_.states) {
      const std::uint32_t which = declared_.for_tiles ? 9 : choices_.below(9);
      if (which < 2) {
        const std::string value = operators_.scattered();
        text_.line("  " + state + " = " + value + ";");
      } else if (which < 4) {
        text_.line("  " + state + " = " + operators_.change_of(kAll).name + ";");
      } else if (which == 4) {
        text_.line("  " + state + " = " + operators_.another_name(operators_.named_finite_array(kAll)).name + ";");
      } else {
        const Array from = operators_.map(kAll, {"float", Kind::kFloat});
        text_.line("  " + state + " = map(" + from.name + ", [&](float x) -> float { return tame(x); });");
      }
    }
  }

  void write_gradient(bool is_typed) {
    if (!declared_.for_tiles && choices_.one_in(3)) {
      const std::string value = operators_.scattered();
      return text_.line("  g = " + value + ";");
    }
    const Array made = operators_.map(kAll, {"float", Kind::kFloat});
    text_.line("  g = " + (is_typed ? with_typed(made.name) : made.name) + ";");
  }

  Choices choices_, of_codings_, of_selections_, of_types_;
  const bool for_tiles_;
  Expressions expressions_;
  const Declarations declared_;
  const bool is_typed_;               ///< encode and merge have typed checks, and send their number
  const bool sends_double_;           ///< and a double
  const bool sends_sums_;             ///< and a double for each block
  std::optional<TypeWord> selected_;  ///< encode sends places that it selects without a count, and values of this type
  bool sends_count_ = false;          ///< and how many they are
  RoutineText text_{choices_, expressions_, declared_};
  Operators operators_{choices_, expressions_, declared_, text_};
  Statements statements_{choices_, expressions_, declared_, text_, operators_};
  TypedChecks typed_{of_types_, declared_, text_, false};
};

}  // namespace

std::string random_program(std::uint64_t seed) { return ProgramWriter(seed).write(); }

}  // namespace casync::compll::test
