// SPDX-License-Identifier: Apache-2.0
//
// The plan of operators that find elements. A search for the largest takes three stages, one for each digit of the key;
// then the least of them is known, and a fourth stage writes places.
#include <algorithm>

#include "compll/codegen/cuda_terms.h"
#include "compll/codegen/cuda_whole_routine.h"
#include "compll/codegen/operation_text.h"
#include "compll/lang/terms.h"

namespace casync::compll {

/// Returns true if an element is made of the input's element of the same place, and of no other array in memory.
bool CudaWholeRoutine::is_made_of_input(const Term& term) const {
  if (term.op == Op::kVariable) {
    if (term.variable == routine_.gradient) return true;
    const auto planned = values_.find(term.variable);
    if (planned == values_.end() || !planned->second.computed) return false;
    for (const Step* step : steps_of_program_) {
      if (step->variables.front() == term.variable) return is_made_of_input(*step->value);
    }
    return false;
  }
  if (term.op == Op::kRange) return true;
  if (term.op != Op::kMap) return false;
  bool reads_elsewhere = false;
  for_each_term(*term.function, [&](const Term& each) { reads_elsewhere |= each.op == Op::kElement; });
  return !reads_elsewhere && std::all_of(term.arguments.begin(), term.arguments.end(),
                                         [&](const TermPtr& each) { return is_made_of_input(*each); });
}

/// Returns true if the search that takes the input can feed the reducer, too: it has each element at hand once.
bool CudaWholeRoutine::is_reduced_with_input(const Term& term, std::uint32_t stage) const {
  const Term& of = *term.arguments[0];
  return is_input_searched_ && stage == 0 && size(of.type()) == "n" && is_made_of_input(of) &&
         needed_if_.count(&term) == 0;
}

/// Returns the name of a function that computes the key and feeds the reducers.
std::string CudaWholeRoutine::begin_reductions_with_input(const std::string& key) {
  if (with_input_.empty()) return key;
  std::vector<std::string> arrays;
  for (const WithInput& each : with_input_) {
    arrays.push_back(array(*each.of));
    out_.line(each.reducer + " " + each.name + ";");
  }
  out_.open("const auto " + key + "_too = [&](uint64_t i)");
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    out_.line(with_input_[i].name + ".take(" + arrays[i] + "(i));");
  }
  out_.line("return " + key + "(i);");
  out_.close(";");
  return key + "_too";
}

void CudaWholeRoutine::end_reductions_with_input() {
  for (const WithInput& each : with_input_) out_.line("join_tensor(" + each.name + ", " + each.slot + ");");
}

/// Plans the stages that find the least key that `largest` or `kth_largest` chooses. Only `largest`, which needs
/// places, asks for the number in each tile.
CudaWholeRoutine::Search CudaWholeRoutine::plan_search(const Term& term, const std::string& name) {
  const Term& of = *term.arguments[0];
  const Term* k = term.op == Op::kKthLargest ? term.arguments[1].get() : nullptr;
  const std::string wanted = "static_cast<uint32_t>(" + size(term.type()) + ")";
  const auto many = [=, this] { return k != nullptr ? scalar(*k) : wanted; };
  Search search;
  search.part = part_of(of.type());
  search.count = size(of.type());
  search.name = name + "_search";
  const std::string selection = memory("Selection", name + "_selection", "sizeof(Selection)", Zeros::kCleared);
  std::string told = "nullptr", ties = "nullptr";
  if (k == nullptr) told = memory("uint64_t", name + "_told", "8 * tiles", Zeros::kCleared);
  const std::string entries = memory("uint64_t", name + "_entries", "8 * " + search.count);
  const std::string lengths = memory("uint32_t", name + "_lengths", "4 * kWarps * tiles");
  if (k == nullptr) {
    ties = memory("uint64_t", name + "_ties", "8 * kMostTies");
    search.places = memory("uint32_t", name, "4 * " + size(term.type()));
  }
  searches_[search.name] =
      "{" + selection + ", {" + entries + ", " + lengths + ", " + told + ", " + ties + "}, " + search.places + "}";
  const auto list = [=, this, &of, &term](const std::string& input) {
    const std::string from = array(of), number = many();
    out_.source_line(term.at);
    std::string key = name + "_key";
    out_.line("const auto " + key + " = [&](uint64_t i) { return key_of(" + from + "(i)); };");
    const bool takes_input = input != "NoInput{}";
    if (takes_input) key = begin_reductions_with_input(key);
    out_.line("list_largest(" + search.part + ", " + search.count + ", " + key + ", " + number + ", " + search.name +
              ", " + input + ");");
    if (takes_input) end_reductions_with_input();
  };
  std::function<void()> choose = [=, this] {
    out_.line("choose_digit<0>(part, " + search.name + ", " + many() + ");");
  };
  const std::uint32_t stage = std::max(ready_to_share(of), k != nullptr ? ready_of_scalar(*k) : 0);
  if (k == nullptr) choose = together(search, stage, "choose_digit<0>(part, ", ", " + wanted + ");");
  const bool takes_input = stage == 0 && !input_.empty() && search.count == "n" && is_made_of_input(of);
  if (takes_input) {
    is_input_searched_ = true;
    take_input_with(list, choose);
  } else {
    add(
        stage, [=] { list("NoInput{}"); }, choose);
  }
  for (const std::uint32_t digit : {1u, 2u}) plan_digit(search, stage + digit, digit);
  search.found = stage + 3;
  return search;
}

/// Plans a later digit. After the first one the search knows how many are wanted of the keys that are left.
void CudaWholeRoutine::plan_digit(const Search& search, std::uint32_t stage, std::uint32_t digit) {
  const std::string number = "<" + std::to_string(digit) + ">(";
  add(stage, together(search, stage, "count_digit" + number + search.part + ", " + search.count + ", ", ");"),
      together(search, stage, "choose_digit" + number + "part, ", ", 0);"));
}

/// A call for a search. Searches with the same call in one stage share a loop, so that its instructions exist once.
std::function<void()> CudaWholeRoutine::together(const Search& search, std::uint32_t stage, const std::string& begin,
                                                 const std::string& end) {
  std::vector<std::string>& names = called_for_[{stage, begin + end}];
  names.push_back(search.name);
  if (names.size() > 1) return [] {};
  return [this, &names, begin, end] {
    if (names.size() == 1) return out_.line(begin + names.front() + end);
    std::string all;
    for (const std::string& each : names) all += (all.empty() ? "" : ", ") + each;
    out_.open("");
    out_.line("const Search searches[] = {" + all + "};");
    out_.line("#pragma unroll 1");
    out_.line("for (const Search& search : searches) " + begin + "search" + end);
    out_.close();
  };
}

void CudaWholeRoutine::plan_largest(const Term& term, Planned& planned, const std::string& name) {
  const Search search = plan_search(term, name);
  add(search.found, together(search, search.found, "pick_largest(" + search.part + ", " + search.count + ", ",
                             ", " + size(term.type()) + ");"));
  planned = {
      {search.found + 1, search.found + 1}, [=, this] { define_memory(name, "uint32_t", search.places); }, name, 0};
}

void CudaWholeRoutine::plan_kth_largest(const Term& term) {
  const std::string name = fresh("kth_largest"), type = type_text(term.type().element);
  const Search search = plan_search(term, name);
  reductions_[&term] = {
      {search.found, search.found},
      [=, this] { out_.line("const " + type + " " + name + " = kth_largest<" + type + ">(" + search.name + ");"); },
      name,
      0};
}

void CudaWholeRoutine::plan_where(const Term& term, Planned& planned, const std::string& name) {
  const Term& of = *term.arguments[0];
  const std::string told = memory("uint64_t", name + "_told", "8 * tiles", Zeros::kCleared);
  const std::string address = memory("uint32_t", name, "4 * " + size(term.type()));
  const std::uint32_t stage = ready(of).own;
  add(stage, [=, this, &of, &term] {
    const std::string from = array(of);
    out_.source_line(term.at);
    out_.line("pick_where(" + part_of(of.type()) + ", " + size(of.type()) + ", [&](uint64_t i) { return to_bool(" +
              from + "(i)); }, " + size(term.type()) + ",");
    out_.line("           " + told + ", " + address + ");");
  });
  planned = {{stage + 1, stage + 1}, [=, this] { define_memory(name, "uint32_t", address); }, name, 0};
}

}  // namespace casync::compll
