// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/whole_loops.h"

#include <algorithm>
#include <utility>

namespace casync::compll {

std::size_t WholeLoops::level(const std::string& array) const {
  const auto found = level_.find(array);
  return found == level_.end() ? 0 : found->second;
}

void WholeLoops::set_level(const std::string& array, std::size_t level) {
  if (level != 0) level_[array] = level;
}

WholeLoops::Phase& WholeLoops::phase(std::size_t level) {
  if (phases_.size() <= level) phases_.resize(level + 1);
  return phases_[level];
}

void WholeLoops::note(const std::string& what, const std::string& array, double written) {
  if (!what.empty()) noted_.what += (noted_.what.empty() ? "" : ", ") + what;
  for (const auto& [memory, bytes] : read_[array]) noted_reads_[memory] = bytes;
  noted_.written += written;
}

void WholeLoops::note_alone(const std::string& what, const std::string& array, double written) {
  double read = 0;
  for (const auto& [memory, bytes] : read_[array]) read += bytes;
  loops_.push_back({what, read, written});
}

void WholeLoops::add(const std::string& what, const std::string& line, const std::string& array, double written) {
  phase(level(array)).elements.push_back(line);
  note(what, array, written);
}

void WholeLoops::add_last(const std::string& what, const std::string& line, const std::string& array, double written) {
  phase(level(array));
  last_.push_back(line);
  note(what, array, written);
}

void WholeLoops::add_of_blocks(const std::string& to, const std::string& line, std::size_t level,
                               const std::string& block) {
  phase(level).blocks.push_back(line);
  tiles_.push_back(block);
  set_level(to, level + 1);
}

void WholeLoops::add_behind(const std::string& line, std::optional<VariableId> id) {
  behind_.push_back(line);
  if (id) awaited_.insert(*id);
}

void WholeLoops::write() {
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

void WholeLoops::write_elements(const std::string& begin, const std::string& end, const Phase& phase) {
  if (phase.elements.empty()) return;
  out_.open("for_groups(" + begin + ", " + end + ", [&](size_t at, auto rest) COMPLL_INLINE");
  out_.line("const Sixteen<" + std::to_string(loop_) + ", decltype(rest)> i{at, rest};");
  for (const std::string& line : phase.elements) out_.line(line);
  out_.close(");");
}

void WholeLoops::write_tiles() {
  if (phases_.size() == 1 && phases_.front().blocks.empty()) return write_elements("0", "n", phases_.front());
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
    write_elements("begin", "end", phase);
    for (const std::string& line : phase.blocks) out_.line(line);
  }
  out_.close();
}

}  // namespace casync::compll
