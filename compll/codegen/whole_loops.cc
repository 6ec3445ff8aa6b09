// SPDX-License-Identifier: Apache-2.0
//
// Loops over all elements, put off until a step needs the whole of a result.
#include <algorithm>

#include "compll/codegen/operation_text.h"
#include "compll/codegen/whole_routine.h"

namespace casync::compll {

std::size_t WholeRoutine::level(const std::string& array) const {
  const auto found = level_.find(array);
  return found == level_.end() ? 0 : found->second;
}

WholeRoutine::Phase& WholeRoutine::phase(std::size_t level) {
  if (phases_.size() <= level) phases_.resize(level + 1);
  return phases_[level];
}

/// Notes a loop's work and the bytes it moves, for `compllc --explain`.
void WholeRoutine::note(const std::string& what, const std::string& array, double written) {
  if (!what.empty()) noted_.what += (noted_.what.empty() ? "" : ", ") + what;
  for (const auto& [memory, bytes] : read_[array]) noted_reads_[memory] = bytes;
  noted_.written += written;
}

void WholeRoutine::note_loop(const std::string& what, const std::string& array, double written) {
  double read = 0;
  for (const auto& [memory, bytes] : read_[array]) read += bytes;
  loops_.push_back({what, read, written});
}

void WholeRoutine::add_to_loop(const std::string& what, const std::string& line, const std::string& array,
                               double written) {
  phase(level(array)).elements.push_back(line);
  note(what, array, written);
}

void WholeRoutine::add_last(const std::string& what, const std::string& line, const std::string& array,
                            double written) {
  phase(level(array));
  last_.push_back(line);
  note(what, array, written);
}

/// Stores the array in its other places: the state that it becomes, and the array that begins as a copy of it.
void WholeRoutine::begin_copies(VariableId id, const std::string& array) {
  const auto put = [&](const std::string& at, const std::string& type, const std::string& place) {
    out_.line(type + "* const " + at + " = " + place + ";");
    const std::string value = array + "(i)";
    if (type != "float")
      return add_to_loop("`" + array + "` is copied",
                         "store_group<" + type + ">(" + value + ", " + at + " + i.first, i.rest);", array, 4);
    out_.line("const Write " + at + "_mode = mode_of(" + at + ", n);");
    add_to_loop("`" + array.substr(0, array.rfind('_')) + "` is kept",
                "put(" + value + ", " + at + ", " + at + "_mode, i);", array, 4);
  };
  const auto place = [&](VariableId of, const std::string& otherwise) {
    const auto wanted = places_.find(of);
    if (wanted == places_.end()) return otherwise;
    made_at_place_.insert(of);
    return wanted->second;
  };
  if (places_.count(id) != 0 && made_at_place_.count(id) == 0) put(array + "_then", "float", place(id, ""));
  if (const auto found = copies_.find(id); found != copies_.end()) {
    for (const VariableId copy : found->second) {
      const std::string type = type_text(program_.variables[copy].type.element), at = name(copy) + "_at";
      put(at, type, place(copy, "taken<" + type + ">(n, memory)"));
      copied_to_[copy] = at;
      picked_from_[id] = at;
    }
  }
}

void WholeRoutine::write_loop() {
  if (phases_.empty() && noted_.what.empty()) return;
  if (!last_.empty()) {
    for (const std::string& line : last_) phases_.back().elements.push_back(line);
    last_.clear();
  }
  if (!phases_.empty()) write_tiles();
  double read = 0;
  for (const auto& [memory, bytes] : noted_reads_) read += bytes;
  if (read != 0 || noted_.written != 0) loops_.push_back({noted_.what, read, noted_.written});
  for (const std::string& array : kept_) {
    read_[array].clear();
    read_[array][array] = 4;
  }
  const std::vector<std::string> behind = std::move(behind_);
  behind_.clear();
  noted_ = {};
  noted_reads_.clear();
  kept_.clear();
  phases_.clear();
  tiles_.clear();
  awaited_.clear();
  level_.clear();
  ++loop_;
  for (const std::string& line : behind) out_.line(line);
}

void WholeRoutine::write_tiles() {
  const auto elements = [&](const std::string& begin, const std::string& end, const Phase& phase) {
    if (phase.elements.empty()) return;
    out_.open("for_groups(" + begin + ", " + end + ", [&](size_t at, auto rest) COMPLL_INLINE");
    out_.line("const Sixteen<" + std::to_string(loop_) + ", decltype(rest)> i{at, rest};");
    for (const std::string& line : phase.elements) out_.line(line);
    out_.close(");");
  };
  if (phases_.size() == 1 && phases_.front().blocks.empty()) return elements("0", "n", phases_.front());
  std::string sizes;
  for (const std::string& block : tiles_) {
    if (sizes.find(block) == sizes.npos) sizes += (sizes.empty() ? "" : ", ") + block;
  }
  const std::string tile = "tile" + std::to_string(loop_);
  out_.line("const size_t " + tile + " = tile_of({" + sizes + "});");
  out_.open("for (size_t begin = 0; begin < n; begin += " + tile + ")");
  out_.line("const size_t end = std::min(begin + " + tile + ", n);");
  // The last loop, which computes for long, prefetches the elements that the next tile will read.
  Phase& last = *std::find_if(phases_.rbegin(), phases_.rend(), [&](const Phase& phase) {
    return !phase.elements.empty() || &phase == &phases_.front();
  });
  if (!last.elements.empty() && &last != &phases_.front()) {
    for (const std::string& memory : memories_) last.elements.push_back(memory + ".fetch(at + " + tile + ");");
  }
  for (const Phase& phase : phases_) {
    elements("begin", "end", phase);
    for (const std::string& line : phase.blocks) out_.line(line);
  }
  out_.close();
}

}  // namespace casync::compll
