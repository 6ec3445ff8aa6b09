// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/vector_selection.h"

#include "compll/codegen/cuda/vector_memory.h"
#include "compll/codegen/cuda/vector_names.h"
#include "compll/codegen/cuda/vector_routine.h"

namespace casync::compll {

using cuda_vector::Search;

std::string CudaSelection::initializer(const Search& search) const {
  const auto memory = [&](const std::optional<cuda_vector::SpaceId>& space, const std::string& type) {
    return space ? cuda_space(text_.plan, *space, type) : "nullptr";
  };
  return "{" + memory(search.selection, "Selection") + ", {" + memory(search.entries, "uint64_t") + ", " +
         memory(search.lengths, "uint32_t") + ", " + memory(search.told, "uint64_t") + ", " +
         memory(search.ties, "uint64_t") + "}, " + memory(search.places, "uint32_t") + "}";
}

/// The number of elements that a search chooses.
std::string CudaSelection::many(const Search& search) {
  return search.places ? "static_cast<uint32_t>(" + CudaNames::size(search.term->type()) + ")"
                       : text_.values.scalar(*search.term->arguments[1]);
}

/// A tile's share of the elements, and their number.
std::string CudaSelection::share(const Search& search) const {
  const Type& type = search.term->arguments[0]->type();
  return CudaNames::part_of(type) + ", " + CudaNames::size(type);
}

void CudaSelection::write(const cuda_vector::ListLargest& work) {
  if (!work.takes_input) return write_list(work, "NoInput{}");
  const std::string array = text_.plan.values[text_.plan.of_variable.at(text_.plan.routine->gradient)].name;
  text_.definitions.hold_input();
  text_.out.open("");
  text_.definitions.name_of_variable(text_.plan.routine->gradient);
  write_list(work, "Input" + text_.works.input_kind() + "(" + text_.works.input_arguments() + ", " + array + ")");
  text_.out.close();
  text_.out.line("__syncthreads();");
  text_.definitions.release_input();
}

void CudaSelection::write_list(const cuda_vector::ListLargest& work, const std::string& input) {
  const Search& search = text_.plan.searches[work.search];
  const std::string from = text_.definitions.name(search.from), number = many(search);
  text_.out.source_line(search.term->at);
  std::string key = search.name + "_key";
  text_.out.line("const auto " + key + " = [&](uint64_t i) { return key_of(" + from + "(i)); };");
  if (!work.fed.empty()) key = fed(work, key);
  text_.out.line("list_largest(" + share(search) + ", " + key + ", " + number + ", " + name_of(search) + ", " + input +
                 ");");
  for (const cuda_vector::FedReducer& each : work.fed) {
    text_.out.line("join_tensor(" + each.name + ", " + cuda_space(text_.plan, each.slot, "uint64_t") + ");");
  }
}

/// Defines a function that computes the key and feeds the reducers; returns its name.
std::string CudaSelection::fed(const cuda_vector::ListLargest& work, const std::string& key) {
  std::vector<std::string> arrays;
  for (const cuda_vector::FedReducer& each : work.fed) {
    arrays.push_back(text_.definitions.name(each.from));
    text_.out.line(CudaReductions::reducer(each.by) + " " + each.name + ";");
  }
  text_.out.open("const auto " + key + "_too = [&](uint64_t i)");
  for (std::size_t i = 0; i < arrays.size(); ++i) text_.out.line(work.fed[i].name + ".take(" + arrays[i] + "(i));");
  text_.out.line("return " + key + "(i);");
  text_.out.close(";");
  return key + "_too";
}

/// Writes a call for one search, or in a loop over several.
void CudaSelection::call(const std::vector<cuda_vector::SearchId>& searches, const std::string& begin,
                         const std::string& end) {
  if (searches.size() == 1) {
    return text_.out.line(begin + name_of(text_.plan.searches[searches.front()]) + end);
  }
  std::string all;
  for (const cuda_vector::SearchId id : searches) all += (all.empty() ? "" : ", ") + name_of(text_.plan.searches[id]);
  text_.out.open("");
  text_.out.line("const Search searches[] = {" + all + "};");
  text_.out.line("#pragma unroll 1");
  text_.out.line("for (const Search& search : searches) " + begin + "search" + end);
  text_.out.close();
}

/// After the first digit the search itself knows how many are wanted of the keys that are left.
void CudaSelection::write(const cuda_vector::ChooseDigit& work) {
  const std::string number = work.digit == 0 ? many(text_.plan.searches[work.searches.front()]) : "0";
  call(work.searches, "choose_digit<" + std::to_string(work.digit) + ">(part, ", ", " + number + ");");
}

void CudaSelection::write(const cuda_vector::CountDigit& work) {
  call(work.searches,
       "count_digit<" + std::to_string(work.digit) + ">(" + share(text_.plan.searches[work.searches.front()]) + ", ",
       ");");
}

void CudaSelection::write(const cuda_vector::PickLargest& work) {
  const Search& search = text_.plan.searches[work.searches.front()];
  call(work.searches, "pick_largest(" + share(search) + ", ", ", " + CudaNames::size(search.term->type()) + ");");
}

void CudaSelection::write(const cuda_vector::PickWhere& work) {
  const std::string from = text_.definitions.name(work.from);
  const Type& of = text_.plan.values[work.from].type;
  text_.out.source_line(work.term->at);
  text_.out.line("pick_where(" + CudaNames::part_of(of) + ", " + CudaNames::size(of) +
                 ", [&](uint64_t i) { return to_bool(" + from + "(i)); }, " + CudaNames::size(work.term->type()) + ",");
  text_.out.line("           " + cuda_space(text_.plan, work.told, "uint64_t") + ", " +
                 cuda_space(text_.plan, work.to, "uint32_t") + ");");
}

}  // namespace casync::compll
