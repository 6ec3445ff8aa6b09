// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/random_programs/rounds_writer.h"

#include <vector>

#include "tests/compll/random_programs/declarations.h"
#include "tests/compll/random_programs/expressions.h"
#include "tests/compll/random_programs/operators.h"
#include "tests/compll/random_programs/routine_text.h"
#include "tests/compll/random_programs/statements.h"
#include "tests/compll/random_programs/typed_checks.h"

namespace casync::compll::test {
namespace {

/// The extent of so many vectors of `rows` or of `columns` elements.
std::string vectors(const std::string& count, const std::string& side) {
  return count == "1" ? side : count + " * " + side;
}

/// A state and its extent.
struct StateWord {
  std::string name, extent;
};

class RoundsWriter {
 public:
  explicit RoundsWriter(std::uint64_t seed)
      : choices_(seed ^ 0xa0761d6478bd642f),
        of_types_(seed ^ 0x94d049bb133111eb),
        is_typed_(of_types_.one_in(2)),
        expressions_(choices_, false) {
    declare();
  }

  std::string write() {
    text_.begin(true);
    text_.line("void synchronize(float* g, float* result) {");
    text_.add_array({"g", "float", kAll, Kind::kFloat, false});
    for (const StateWord& state : states_) text_.add_array({state.name, "float", state.extent, Kind::kFloat, true});
    if (is_typed_) typed_.begin();
    const int exchanges = choices_.between(1, 4);
    for (int i = 0; i < exchanges; ++i) {
      write_statements(choices_.between(0, 3));
      if (is_typed_) typed_.write();
      write_exchange();
    }
    write_statements(choices_.between(0, 3));
    for (const StateWord& state : states_) {
      const std::string value = operators_.named_finite_array(state.extent).name;
      text_.line("  " + state.name + " = " + value + ";");
    }
    const Array made = operators_.map(kAll, {"float", Kind::kFloat});
    if (!is_typed_) {
      text_.line("  result = " + made.name + ";\n}");
      return declared_.text + text_.take();
    }
    text_.line("  uint checked = " + typed_.number() + ";");
    text_.line("  result = map(" + made.name + ", [&](float x) -> float { return x + checked % 8; });\n}");
    return declared_.text + text_.take() + kTypedParameters + typed_.helpers();
  }

 private:
  void declare() {
    std::string text = "codec random_rounds {\n  shape rows columns;\n";
    if (choices_.one_in(2)) text += "  shared_numbers;\n";
    text += "}\n";
    if (choices_.one_in(2)) {
      text += "param {\n  uint k = " + std::to_string(choices_.between(1, 4)) + " in 1..64;\n}\n";
      declared_.parameters.push_back({"k", Kind::kUint});
      counts_.push_back("k");
    }
    static const std::vector<std::string> kBlocks = {"1", "7", "16", "48", "64", "100", "rows", "columns"};
    static const std::vector<std::string> kTurned = {"1", "4", "16", "64"};
    declared_.blocks = {choices_.of(kBlocks), choices_.of(kBlocks)};
    declared_.turned = choices_.of(kTurned);
    declared_.sizes = {any_vectors(), any_vectors(), "min(5, g.size)", "g.size / 3", "1 + rows / 2"};
    const int states = choices_.between(0, 3);
    for (int i = 0; i < states; ++i) {
      const StateWord state{"kept" + std::to_string(i), choices_.one_in(2) ? kAll : any_vectors()};
      text += "state float" + (state.extent == kAll ? "* " + state.name : " " + state.name + "[" + state.extent + "]") +
              ";\n";
      states_.push_back(state);
    }
    declared_.text = text + kHelpers;
  }

  std::string any_vectors() {
    const std::string count = choices_.of(counts_);
    return vectors(count, choices_.one_in(2) ? "rows" : "columns");
  }

  void write_statements(int count) {
    for (int i = 0; i < count; ++i) {
      switch (choices_.below(5)) {
        case 0: write_product(); break;
        case 1: write_orthonormal(); break;
        default: statements_.write_any();
      }
    }
  }

  void write_product() {
    const std::string count = choices_.of(counts_);
    const bool of_rows = choices_.one_in(2), is_outer = choices_.one_in(3);
    const std::string own = vectors(count, of_rows ? "columns" : "rows"),
                      other = vectors(count, of_rows ? "rows" : "columns");
    const Array left = operators_.finite_array(is_outer ? vectors(count, "rows") : kAll),
                right = operators_.finite_array(is_outer ? vectors(count, "columns") : own);
    add_floats("m", "matmul(" + left.name + ", " + right.name + ")", is_outer ? kAll : other);
  }

  void write_orthonormal() {
    const std::string extent = any_vectors();
    add_floats("w", "orthonormalize(" + operators_.finite_array(extent).name + ")", extent);
  }

  void write_exchange() {
    static const std::vector<std::string> kKinds = {"", "", ", max", ", elias"};
    const std::string extent = choices_.one_in(2) ? any_vectors() : text_.any_extent();
    const Array given = operators_.finite_array(extent);
    const std::string kind = choices_.of(kKinds);
    add_floats("u", "exchange(" + given.name + kind + ")", extent, true);
  }

  void add_floats(const std::string& word, const std::string& value, const std::string& extent, bool finite = false) {
    const std::string name = text_.fresh(word);
    text_.line("  float* " + name + " = " + value + ";");
    text_.add_array({name, "float", extent, Kind::kFloat, finite});
  }

  Choices choices_, of_types_;
  const bool is_typed_;  ///< there are typed checks ahead of exchanges
  Expressions expressions_;
  Declarations declared_;
  std::vector<std::string> counts_ = {"1", "2", "3"};  ///< of vectors
  std::vector<StateWord> states_;
  RoutineText text_{choices_, expressions_, declared_};
  Operators operators_{choices_, expressions_, declared_, text_};
  Statements statements_{choices_, expressions_, declared_, text_, operators_};
  TypedChecks typed_{of_types_, declared_, text_, true};
};

}  // namespace

std::string random_rounds(std::uint64_t seed) { return RoundsWriter(seed).write(); }

}  // namespace casync::compll::test
