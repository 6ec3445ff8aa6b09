// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/random_programs/program_writer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tests/compll/random_programs/expressions.h"

namespace casync::compll::test {
namespace {

/// An array of a routine. Arrays of the same extent fit together.
struct Array {
  std::string name, type, extent;
  Kind kind = Kind::kFloat;
  bool finite = false;
};

/// One value of `concat`, which encode and merge make alike.
struct SectionWord {
  std::string name;
  TypeWord type;
  std::string extent;   ///< "" : one value
  bool places = false;  ///< made by `largest` or `where`
};

constexpr const char* kHelpers =
    "float tame(float x) { return abs(x) < 1e18 ? x : 0.25; }\n"
    "float helper(float x, int k) {\n  if (k > 3) { return x * 0.5; }\n  float y = x;\n"
    "  if (x < 0) { y = k - x; }\n  return y;\n}\n";

const char* const kAll = "n";  ///< the extent of the gradient

class ProgramWriter {
 public:
  explicit ProgramWriter(std::uint64_t seed)
      : choices_(seed), for_tiles_(choices_.one_in(2)), expressions_(choices_, for_tiles_) {}

  std::string write() {
    std::string text = codec();  // one after the other: each draws from the same choices
    text += parameters();
    text += states();
    text += kHelpers;
    choose_sections();
    text += routine("encode");
    if (choices_.one_in(3)) text += routine("merge");
    text += decode();
    if (choices_.one_in(3)) text += result();
    return text;
  }

 private:
  // Declarations outside of functions.

  std::string codec() {
    std::string text = "codec random_program {\n";
    if (choices_.one_in(3)) text += choices_.one_in(3) ? "  feedback off;\n" : "  feedback;\n";
    if (choices_.one_in(8)) text += "  shared_numbers;\n";
    if (choices_.one_in(10)) text += "  overflow 65520;\n";
    return text + "}\n";
  }

  std::string parameters() {
    std::string text;
    if (choices_.one_in(2)) text += "  float p = " + std::string(choices_.one_in(2) ? "0.5" : "-3.25") + " in -8..8;\n";
    if (choices_.one_in(2)) text += "  uint k = " + std::to_string(choices_.between(1, 9)) + " in 1..1000;\n";
    if (choices_.one_in(3)) text += "  int m = -2 in {-2, 0, 5, 100000};\n";
    known_ = {};
    if (text.find(" p ") != text.npos) known_.push_back({"p", Kind::kFloat});
    if (text.find(" k ") != text.npos) known_.push_back({"k", Kind::kUint});
    if (text.find(" m ") != text.npos) known_.push_back({"m", Kind::kInt});
    choose_blocks(text);
    choose_sizes();
    return text.empty() ? "" : "param {\n" + text + "}\n";
  }

  void choose_blocks(std::string& parameters) {
    static const std::vector<std::string> kForTiles = {"16", "32", "64", "128", "256", "1024", "4096"};
    static const std::vector<std::string> kAny = {"1",  "2",   "3",   "7",   "12",  "16",   "24",   "48",  "64",
                                                  "80", "100", "128", "200", "255", "1000", "4096", "5000"};
    const bool as_parameter = choices_.one_in(3);
    const std::string value = choices_.of(for_tiles_ ? kForTiles : kAny);
    if (as_parameter) {
      parameters += for_tiles_ ? "  uint block = " + value + " in 16..65536 step 16;\n"
                               : "  uint block = " + value + " in 1..65536;\n";
    }
    blocks_.push_back(as_parameter ? "block" : value);
    if (!for_tiles_ && choices_.one_in(4)) blocks_.push_back(choices_.of(kAny));
    static const std::vector<std::string> kTurned = {"1", "2", "4", "8", "16", "32", "64", "128"};
    turned_ = choices_.of(kTurned);
    if (choices_.one_in(4)) {
      parameters += "  uint turned = 16 in {4, 16, 64};\n";
      turned_ = "turned";
    }
  }

  void choose_sizes() {
    static const std::vector<std::string> kSizes = {
        "selected(0.1, g.size)", "g.size / 3", "g.size * 100 / 1000",    "min(5, g.size)",
        "1 + g.size / 100",      "g.size - 2", "(g.size + 63) / 64 * 7", "g.size * 3 / 4 + 1",
        "uint(sqrt(g.size))",    "g.size % 17"};
    sizes_.push_back(choices_.of(kSizes));
    if (choices_.one_in(2)) sizes_.push_back(choices_.of(kSizes));
    if (std::any_of(known_.begin(), known_.end(), [](const Scalar& each) { return each.text == "k"; })) {
      sizes_.push_back("k");
    }
    if (choices_.one_in(2)) sizes_.push_back(std::to_string(choices_.between(0, 40)));
  }

  std::string states() {
    std::string text;
    const int count = choices_.one_in(3) ? choices_.between(1, 3) : 0;
    for (int i = 0; i < count; ++i) {
      states_.push_back("kept" + std::to_string(i));
      text += "state float* " + states_.back() + (choices_.one_in(3) ? " = 0.5" : "") + ";\n";
    }
    return text;
  }

  void choose_sections() {
    const int count = choices_.between(1, 4);
    for (int i = 0; i < count; ++i) {
      SectionWord section{"sent" + std::to_string(i), expressions_.section_type(), kAll};
      const std::uint32_t which = choices_.below(10);
      if (which == 0) section.extent = "";
      if (which == 1 || which == 2) {
        section.extent = "blocks " + blocks_.front();
        if (for_tiles_ && !choices_.one_in(4)) section.type = {choices_.one_in(2) ? "float" : "uint8", Kind::kFloat};
        if (section.type.text == "uint8") section.type.kind = Kind::kInt;
      }
      if (which >= 3 && which <= 6 && !for_tiles_) {
        section.extent = choices_.of(sizes_);
        section.places = choices_.one_in(2);
        if (section.places) section.type = {"uint", Kind::kUint};
      }
      sections_.push_back(section);
    }
  }

  // Routines.

  std::string routine(const std::string& name) {
    begin("g", true);
    line("void " + name + "(float* g, uint8* compressed) {");
    add_array({"g", "float", kAll, Kind::kFloat, false});
    for (const std::string& state : states_) add_array({state, "float", kAll, Kind::kFloat, false});
    write_statements(choices_.between(1, 7));
    for (const SectionWord& section : sections_) write_section(section);
    write_states();
    std::string sent;
    for (const SectionWord& section : sections_) sent += (sent.empty() ? "" : ", ") + section.name;
    line("  compressed = concat(" + sent + ");\n}");
    return std::exchange(text_, "");
  }

  std::string decode() {
    begin("g", false);
    line("void decode(uint8* compressed, float* g) {");
    std::string sent;
    for (const SectionWord& section : sections_) {
      line("  " + section.type.text + (section.extent.empty() ? " " : "* ") + section.name + ";");
      sent += ", " + section.name;
    }
    line("  extract(compressed" + sent + ");");
    for (const SectionWord& section : sections_) {
      if (section.extent.empty()) {
        scope_.scalars.push_back({section.name, section.type.kind});
      } else {
        add_array({section.name, section.type.text, section.extent, section.type.kind, false});
      }
    }
    write_statements(choices_.between(0, 4));
    write_gradient();
    line("}");
    return std::exchange(text_, "");
  }

  std::string result() {
    begin("d", true);
    line("void result(float* d, float* g) {");
    add_array({"d", "float", kAll, Kind::kFloat, false});
    for (const std::string& state : states_) add_array({state, "float", kAll, Kind::kFloat, false});
    write_statements(choices_.between(0, 3));
    write_states();
    write_gradient();
    line("}");
    return std::exchange(text_, "");
  }

  void begin(const std::string&, bool draws) {
    scope_ = {};
    scope_.scalars = known_;
    arrays_.clear();
    draws_ = draws;
    text_.clear();
  }
  void line(const std::string& text) { text_ += text + "\n"; }
  std::string fresh(const std::string& word) { return word + std::to_string(++fresh_); }
  void add_array(Array array) { arrays_.push_back(std::move(array)); }

  std::vector<Array> arrays_of(const std::string& extent) const {
    std::vector<Array> found;
    std::copy_if(arrays_.begin(), arrays_.end(), std::back_inserter(found),
                 [&](const Array& each) { return each.extent == extent; });
    return found;
  }

  /// An array of this extent, made if there is none.
  Array array_of(const std::string& extent) {
    const std::vector<Array> found = arrays_of(extent);
    if (!found.empty() && !choices_.one_in(4)) return choices_.of(found);
    if (extent == kAll && !found.empty()) return choices_.of(found);
    if (extent.starts_with("blocks ")) return block_reduction(extent.substr(7));
    Array made{fresh("r"), "int", extent, Kind::kInt, true};
    line("  int* " + made.name + " = range(" + (extent == kAll ? "g.size" : extent) + ");");
    add_array(made);
    return made;
  }

  /// An array of this extent whose elements are floats that are never NaN.
  Array finite_array(const std::string& extent) {
    const Array from = array_of(extent);
    if (from.finite && from.kind == Kind::kFloat) return from;
    Array made{fresh("f"), "float", extent, Kind::kFloat, true};
    line("  float* " + made.name + " = map(" + from.name + ", [&](" + from.type + " x) -> float { return tame(" +
         (from.kind == Kind::kBool ? "float(x)" : "x") + "); });");
    add_array(made);
    return made;
  }

  void write_statements(int count) {
    for (int i = 0; i < count; ++i) write_statement();
  }

  void write_statement() {
    const std::uint32_t which = choices_.below(for_tiles_ ? 10 : 18);
    switch (which) {
      case 0:
      case 1: return write_scalar();
      case 2:
      case 3: return static_cast<void>(map(array_of(any_extent()).extent, expressions_.any_type()));
      case 4: return write_reduction();
      case 5: return static_cast<void>(block_reduction(choices_.of(blocks_)));
      case 6: return write_spread();
      case 7: return write_several();
      case 8: return write_choice();
      case 9: return choices_.one_in(3) ? write_hadamard() : write_reduction();
      case 10:
      case 11: return static_cast<void>(places(choices_.of(sizes_)));
      case 12: return write_kth_largest();
      case 13: return write_filter_or_sort();
      case 14: return write_gather();
      case 15: return write_scatter();
      case 16: return write_histogram();
      default: return write_hadamard();
    }
  }

  std::string any_extent() {
    if (for_tiles_ || !choices_.one_in(3)) return kAll;
    return arrays_.empty() ? kAll : choices_.of(arrays_).extent;
  }

  /// The scope of scalars outside of functions.
  Scope outside() const {
    Scope scope = scope_;
    if (!for_tiles_) {
      for (const Array& array : arrays_) scope.arrays.push_back({array.name, array.kind, array.finite});
    }
    return scope;
  }

  void write_scalar() {
    const TypeWord type = expressions_.any_type();
    const std::string name = fresh("v");
    line("  " + type.text + " " + name + " = " + expressions_.any(outside(), 3).text + ";");
    scope_.scalars.push_back({name, type.kind});
  }

  void write_choice() {
    const std::string name = fresh("c");
    line("  float " + name + " = " + expressions_.number(outside(), 2).text + ";");
    if (choices_.one_in(3)) {
      line("  repeat (" + std::to_string(choices_.between(0, 3)) + ") { " + name + " = " + name + " * 0.5 + " +
           expressions_.number(outside(), 1).text + "; }");
    } else {
      line("  if (" + expressions_.condition(outside(), 2) + ") { " + name + " = " +
           expressions_.number(outside(), 2).text + "; }" +
           (choices_.one_in(2) ? " else { " + name + " += " + expressions_.number(outside(), 1).text + "; }" : ""));
    }
    scope_.scalars.push_back({name, Kind::kFloat});
  }

  /// A function of elements of these arrays, without the word that assigns it.
  std::string function(const std::vector<Array>& arrays, const TypeWord& result, int depth) {
    Scope scope = scope_;
    scope.draws = draws_;
    if (!for_tiles_ && choices_.one_in(3)) {
      for (const Array& array : arrays_) scope.arrays.push_back({array.name, array.kind, array.finite});
    }
    std::string list, body;
    for (const Array& array : arrays) {
      const std::string name = fresh("x");
      list += (list.empty() ? "" : ", ") + array.type + " " + name;
      for (int weight = 0; weight < 3; ++weight) scope.scalars.push_back({name, array.kind});
    }
    const int locals = choices_.between(0, 2);
    for (int i = 0; i < locals; ++i) {
      const TypeWord type = expressions_.number_type();
      const std::string name = fresh("y");
      body += "    " + type.text + " " + name + " = " + expressions_.number(scope, depth).text + ";\n";
      scope.scalars.push_back({name, type.kind});
      if (choices_.one_in(3)) {
        body += "    if (" + expressions_.condition(scope, 2) + ") " + name + " = " +
                expressions_.number(scope, 2).text + ";\n";
      }
    }
    if (choices_.one_in(5)) {
      body += "    if (" + expressions_.condition(scope, 2) + ") return " + converted(result, scope, 2) + ";\n";
    }
    body += "    return " + converted(result, scope, depth) + ";\n";
    return "[&](" + list + ") -> " + result.text + " {\n" + body + "  }";
  }

  /// An expression that `return` converts by itself.
  std::string converted(const TypeWord& result, const Scope& scope, int depth) {
    if (result.kind == Kind::kBool) return expressions_.condition(scope, depth);
    if (choices_.one_in(10)) return expressions_.number({scope_.scalars, {}, false}, 1).text;  // the same for all
    return expressions_.number(scope, depth).text;
  }

  Array map(const std::string& extent, const TypeWord& type, const std::string& called = "") {
    std::vector<Array> arrays = {array_of(extent)};
    if (choices_.one_in(2)) arrays.push_back(array_of(extent));
    if (choices_.one_in(6)) arrays.push_back(array_of(extent));
    Array made{called.empty() ? fresh("a") : called, type.text, extent, type.kind, false};
    std::string names;
    for (const Array& array : arrays) names += array.name + ", ";
    line("  " + type.text + "* " + made.name + " = map(" + names + function(arrays, type, 3) + ");");
    add_array(made);
    return made;
  }

  void write_several() {
    const std::string extent = any_extent();
    const Array from = array_of(extent);
    const TypeWord first = expressions_.any_type(), second = expressions_.number_type();
    Scope scope = scope_;
    scope.draws = draws_;
    const std::string x = fresh("x");
    for (int weight = 0; weight < 3; ++weight) scope.scalars.push_back({x, from.kind});
    Array one{fresh("a"), first.text, extent, first.kind, false},
        two{fresh("a"), second.text, extent, second.kind, false};
    line("  (" + first.text + "* " + one.name + ", " + second.text + "* " + two.name + ") = map(" + from.name +
         ", [&](" + from.type + " " + x + ") -> (" + first.text + ", " + second.text + ") { return (" +
         expressions_.number(scope, 2).text + ", " + expressions_.number(scope, 2).text + "); });");
    add_array(one);
    add_array(two);
  }

  /// `sum`, or a function of two elements and what it begins with.
  std::string reducer(const Array& from, std::string& initial, TypeWord& gives) {
    static const std::vector<std::string> kNamed = {"sum", "min", "max", "count", "sum"};
    initial.clear();
    gives = {from.type, from.kind};
    if (choices_.one_in(4)) {
      Scope scope;
      const std::string a = fresh("x"), b = fresh("x");
      for (int weight = 0; weight < 3; ++weight) {
        scope.scalars.push_back({a, from.kind});
        scope.scalars.push_back({b, from.kind});
      }
      scope.n = "3";
      initial = choices_.one_in(2) ? "0" : "2";
      return "[&](" + from.type + " " + a + ", " + from.type + " " + b + ") -> " + from.type + " { return " +
             expressions_.number(scope, 2).text + "; }";
    }
    if (from.type == "float" && choices_.one_in(3)) return "magnitude";
    const std::string named = choices_.of(kNamed);
    if (named == "count") gives = {"uint", Kind::kUint};
    if (named == "sum")
      gives = from.kind == Kind::kFloat || from.kind == Kind::kDouble
                  ? TypeWord{"double", Kind::kDouble}
                  : TypeWord{from.kind == Kind::kUint ? "uint" : "int", from.kind};
    return named;
  }

  /// An array of this extent whose elements are numbers.
  Array numbers_of(const std::string& extent) {
    const Array found = array_of(extent);
    const bool narrow = found.type != "float" && found.type != "int" && found.type != "uint";
    const bool whole_only = for_tiles_ && narrow && !choices_.one_in(6);
    return found.kind == Kind::kBool || whole_only ? finite_array(extent) : found;
  }

  void write_reduction() {
    const Array from = numbers_of(any_extent());
    if (from.kind == Kind::kBool) return;
    std::string initial;
    TypeWord gives;
    const std::string by = reducer(from, initial, gives);
    const std::string name = fresh("v");
    if (for_tiles_ && gives.kind == Kind::kDouble && !choices_.one_in(8)) gives = {"float", Kind::kFloat};
    line("  " + gives.text + " " + name + " = reduce(" + from.name + ", " + (initial.empty() ? "" : initial + ", ") +
         by + ");");
    scope_.scalars.push_back({name, gives.kind});
  }

  Array block_reduction(const std::string& block) {
    Array from = numbers_of(kAll);
    if (from.kind == Kind::kBool) from = finite_array(kAll);
    std::string initial;
    TypeWord gives;
    const std::string by = reducer(from, initial, gives);
    Array made{fresh("b"), gives.text, "blocks " + block, gives.kind, false};
    line("  " + gives.text + "* " + made.name + " = block_reduce(" + from.name + ", " + block + ", " +
         (initial.empty() ? "" : initial + ", ") + by + ");");
    add_array(made);
    return made;
  }

  void write_spread() {
    const std::string block = choices_.of(blocks_);
    const Array from = array_of("blocks " + block);
    if (for_tiles_ && from.kind == Kind::kDouble) {
      Array made{fresh("s"), "float", kAll, Kind::kFloat, false};
      line("  float* " + made.name + " = map(spread(" + from.name + ", " + block +
           "), [&](double x) -> float { return x; });");
      return add_array(made);
    }
    Array made{fresh("s"), from.type, kAll, from.kind, from.finite};
    line("  " + from.type + "* " + made.name + " = spread(" + from.name + ", " + block + ");");
    add_array(made);
  }

  void write_hadamard() {
    const Array from = finite_array(kAll);
    Array made{fresh("h"), "float", kAll, Kind::kFloat, false};
    line("  float* " + made.name + " = hadamard(" + from.name + ", " + turned_ + ");");
    add_array(made);
  }

  /// `called` names the result.
  Array places(const std::string& size, const std::string& called = "") {
    const Array from = choices_.one_in(4) ? finite_array(choices_.of(sizes_)) : finite_array(kAll);
    Array made{called.empty() ? fresh("p") : called, "uint", size, Kind::kUint, true};
    const std::string x = fresh("x"), begin = "  uint* " + made.name + " = ";
    switch (choices_.below(4)) {
      case 0: line(begin + "largest(" + from.name + ", " + size + ");"); break;
      case 1: line(begin + "largest(" + from.name + ", " + size + ", absolute);"); break;
      case 2:
        line(begin + "largest(" + from.name + ", " + size + ", [&](float " + x + ") -> " +
             (choices_.one_in(2) ? "int { return " + x + " * 3; });"
                                 : "float { return tame(1 / (" + x + " + 0.5)); });"));
        break;
      default:
        line(begin + "where(" + from.name + ", " + size + ", [&](float " + x + ") -> bool { return " + x +
             " > 0.3; });");
    }
    add_array(made);
    return made;
  }

  void write_kth_largest() {
    const Array from = finite_array(any_extent());
    const std::string name = fresh("v");
    line("  float " + name + " = kth_largest(" + from.name + ", " + expressions_.integer(outside(), 1) +
         (choices_.one_in(2) ? ", absolute);" : ");"));
    scope_.scalars.push_back({name, Kind::kFloat});
  }

  void write_filter_or_sort() {
    const Array from = finite_array(any_extent());
    const std::string x = fresh("x"), y = fresh("x");
    if (choices_.one_in(2)) {
      Array made{fresh("t"), "float", choices_.of(sizes_), Kind::kFloat, true};
      line("  float* " + made.name + " = filter(" + from.name + ", " + made.extent + ", [&](float " + x +
           ") -> bool { return " + x + " < 0.5; });");
      return add_array(made);
    }
    Array made{fresh("t"), "float", from.extent, Kind::kFloat, true};
    const std::string by = choices_.one_in(3) ? "abs(" + x + ") < abs(" + y + ")" : x + " > " + y;
    line("  float* " + made.name + " = sort(" + from.name +
         (choices_.one_in(3) ? ");" : ", [&](float " + x + ", float " + y + ") -> bool { return " + by + "; });"));
    add_array(made);
  }

  void write_gather() {
    const Array at = places(choices_.of(sizes_)), from = array_of(any_extent());
    Array made{fresh("e"), from.type, at.extent, from.kind, from.finite};
    line("  " + from.type + "* " + made.name + " = gather(" + from.name + ", " + at.name + ");");
    add_array(made);
  }

  /// An array of floats for all elements.
  std::string scattered() {
    const Array at = arrays_of_places();
    const Array values = finite_array(at.extent);
    const std::string operation = choices_.one_in(3) ? "scatter_add(" : "scatter(";
    const std::string value = choices_.one_in(3) ? expressions_.tame(outside(), 2) : values.name;
    const std::string into = choices_.one_in(2) ? "g.size" : finite_array(kAll).name;
    return operation + at.name + ", " + value + ", " + into + ")";
  }
  Array arrays_of_places() {
    std::vector<Array> found;
    std::copy_if(arrays_.begin(), arrays_.end(), std::back_inserter(found), [](const Array& each) {
      return each.type == "uint" && each.extent != kAll && !each.extent.starts_with("blocks ");
    });
    return found.empty() ? places(choices_.of(sizes_)) : choices_.of(found);
  }

  void write_scatter() {
    Array made{fresh("d"), "float", kAll, Kind::kFloat, true};
    const std::string value = scattered();
    line("  float* " + made.name + " = " + value + ";");
    add_array(made);
  }

  void write_histogram() {
    const Array from = finite_array(any_extent());
    Array made{fresh("q"), "uint", std::to_string(choices_.between(0, 40)), Kind::kUint, true};
    const std::string x = fresh("x");
    line("  uint* " + made.name + " = histogram(" + from.name + ", " + made.extent + ", [&](float " + x +
         ") -> int { return " + x + " * 4 + 3; });");
    add_array(made);
  }

  void write_section(const SectionWord& section) {
    if (section.extent.empty()) {
      const std::string value = section.type.kind == Kind::kBool ? expressions_.condition(outside(), 2)
                                                                 : expressions_.number(outside(), 3).text;
      return line("  " + section.type.text + " " + section.name + " = " + value + ";");
    }
    if (section.places) return static_cast<void>(places(section.extent, section.name));
    map(section.extent, section.type, section.name);
  }

  void write_states() {
    for (const std::string& state : states_) {
      if (!for_tiles_ && choices_.one_in(3)) {
        const std::string value = scattered();
        line("  " + state + " = " + value + ";");
      } else {
        const Array from = map(kAll, {"float", Kind::kFloat});
        line("  " + state + " = map(" + from.name + ", [&](float x) -> float { return tame(x); });");
      }
    }
  }

  void write_gradient() {
    if (!for_tiles_ && choices_.one_in(3)) {
      const std::string value = scattered();
      return line("  g = " + value + ";");
    }
    const Array made = map(kAll, {"float", Kind::kFloat});
    line("  g = " + made.name + ";");
  }

  Choices choices_;
  const bool for_tiles_;
  Expressions expressions_;
  std::vector<Scalar> known_;  ///< parameters
  std::vector<std::string> blocks_, sizes_, states_;
  std::string turned_;
  std::vector<SectionWord> sections_;

  // The routine that is being written.
  std::string text_;
  Scope scope_;
  std::vector<Array> arrays_;
  bool draws_ = false;
  int fresh_ = 0;
};

}  // namespace

std::string random_program(std::uint64_t seed) { return ProgramWriter(seed).write(); }

}  // namespace casync::compll::test
