// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/whole_selection.h"

#include <algorithm>

#include "compll/codegen/cuda/terms.h"
#include "compll/codegen/cuda/whole_routine.h"
#include "compll/codegen/text/operation_text.h"
#include "compll/lang/terms.h"

namespace casync::compll {

/// Plans the stages that find the least key that `largest` or `kth_largest` chooses. Only `largest`, which needs
/// places, asks for the number in each tile.
CudaSelection::Search CudaSelection::plan_search(const Term& term, const std::string& name) {
  const Term& of = *term.arguments[0];
  const Term* k = term.op == Op::kKthLargest ? term.arguments[1].get() : nullptr;
  const std::string wanted = "static_cast<uint32_t>(" + CudaNames::size(term.type()) + ")";
  const auto many = [=, this] { return k != nullptr ? text_.values.scalar(*k) : wanted; };
  Search search;
  search.part = CudaNames::part_of(of.type());
  search.count = CudaNames::size(of.type());
  search.name = name + "_search";
  const std::string selection =
      text_.stages.memory("Selection", name + "_selection", "sizeof(Selection)", CudaStages::Zeros::kCleared);
  std::string told = "nullptr", ties = "nullptr";
  if (k == nullptr) told = text_.stages.memory("uint64_t", name + "_told", "8 * tiles", CudaStages::Zeros::kCleared);
  const std::string entries = text_.stages.memory("uint64_t", name + "_entries", "8 * " + search.count);
  const std::string lengths = text_.stages.memory("uint32_t", name + "_lengths", "4 * kWarps * tiles");
  if (k == nullptr) {
    ties = text_.stages.memory("uint64_t", name + "_ties", "8 * kMostTies");
    search.places = text_.stages.memory("uint32_t", name, "4 * " + CudaNames::size(term.type()));
  }
  text_.stages.add_search(search.name, "{" + selection + ", {" + entries + ", " + lengths + ", " + told + ", " + ties +
                                           "}, " + search.places + "}");
  const auto list = [=, this, &of, &term](const std::string& input) {
    const std::string from = text_.plan.array(of), number = many();
    text_.out.source_line(term.at);
    std::string key = name + "_key";
    text_.out.line("const auto " + key + " = [&](uint64_t i) { return key_of(" + from + "(i)); };");
    const bool takes_input = input != "NoInput{}";
    if (takes_input) key = text_.input.begin_reductions_with_input(key);
    text_.out.line("list_largest(" + search.part + ", " + search.count + ", " + key + ", " + number + ", " +
                   search.name + ", " + input + ");");
    if (takes_input) text_.input.end_reductions_with_input();
  };
  std::function<void()> choose = [=, this] {
    text_.out.line("choose_digit<0>(part, " + search.name + ", " + many() + ");");
  };
  const std::uint32_t stage =
      std::max(text_.plan.ready_to_share(of), k != nullptr ? text_.plan.ready_of_scalar(*k) : 0);
  if (k == nullptr) choose = together(search, stage, "choose_digit<0>(part, ", ", " + wanted + ");");
  const bool takes_input =
      stage == 0 && text_.input.is_open() && search.count == "n" && text_.input.is_made_of_input(of);
  if (takes_input) {
    text_.input.take_input_with(list, choose);
  } else {
    text_.stages.add(
        stage, [=] { list("NoInput{}"); }, choose);
  }
  for (const std::uint32_t digit : {1u, 2u}) plan_digit(search, stage + digit, digit);
  search.found = stage + 3;
  return search;
}

/// Plans a later digit. After the first one the search knows how many are wanted of the keys that are left.
void CudaSelection::plan_digit(const Search& search, std::uint32_t stage, std::uint32_t digit) {
  const std::string number = "<" + std::to_string(digit) + ">(";
  text_.stages.add(stage,
                   together(search, stage, "count_digit" + number + search.part + ", " + search.count + ", ", ");"),
                   together(search, stage, "choose_digit" + number + "part, ", ", 0);"));
}

/// A call for a search. Searches with the same call in one stage share a loop, so that its instructions exist once.
std::function<void()> CudaSelection::together(const Search& search, std::uint32_t stage, const std::string& begin,
                                              const std::string& end) {
  std::vector<std::string>& names = called_for_[{stage, begin + end}];
  names.push_back(search.name);
  if (names.size() > 1) return [] {};
  return [this, &names, begin, end] {
    if (names.size() == 1) return text_.out.line(begin + names.front() + end);
    std::string all;
    for (const std::string& each : names) all += (all.empty() ? "" : ", ") + each;
    text_.out.open("");
    text_.out.line("const Search searches[] = {" + all + "};");
    text_.out.line("#pragma unroll 1");
    text_.out.line("for (const Search& search : searches) " + begin + "search" + end);
    text_.out.close();
  };
}

void CudaSelection::plan_largest(const Term& term, CudaPlanned& planned, const std::string& name) {
  const Search search = plan_search(term, name);
  text_.stages.add(search.found,
                   together(search, search.found, "pick_largest(" + search.part + ", " + search.count + ", ",
                            ", " + CudaNames::size(term.type()) + ");"));
  planned = {{search.found + 1, search.found + 1},
             [=, this] { text_.plan.define_memory(name, "uint32_t", search.places); },
             name,
             0};
}

void CudaSelection::plan_kth_largest(const Term& term) {
  const std::string name = text_.names.fresh("kth_largest"), type = type_text(term.type().element);
  const Search search = plan_search(term, name);
  text_.plan.reduction(term) = {
      {search.found, search.found},
      [=, this] {
        text_.out.line("const " + type + " " + name + " = kth_largest<" + type + ">(" + search.name + ");");
      },
      name,
      0};
}

void CudaSelection::plan_where(const Term& term, CudaPlanned& planned, const std::string& name) {
  const Term& of = *term.arguments[0];
  const std::string told = text_.stages.memory("uint64_t", name + "_told", "8 * tiles", CudaStages::Zeros::kCleared);
  const std::string address = text_.stages.memory("uint32_t", name, "4 * " + CudaNames::size(term.type()));
  const std::uint32_t stage = text_.plan.ready(of).own;
  text_.stages.add(stage, [=, this, &of, &term] {
    const std::string from = text_.plan.array(of);
    text_.out.source_line(term.at);
    text_.out.line("pick_where(" + CudaNames::part_of(of.type()) + ", " + CudaNames::size(of.type()) +
                   ", [&](uint64_t i) { return to_bool(" + from + "(i)); }, " + CudaNames::size(term.type()) + ",");
    text_.out.line("           " + told + ", " + address + ");");
  });
  planned = {{stage + 1, stage + 1}, [=, this] { text_.plan.define_memory(name, "uint32_t", address); }, name, 0};
}

}  // namespace casync::compll
