// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compll/codegen/text/loops.h"
#include "compll/codegen/text/writer.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// The loop over all elements that is put off until a step needs the whole of a result, and a list of those that are
/// written. It runs tile by tile if something waits for blocks: in each tile phase after phase.
class WholeLoops {
 public:
  explicit WholeLoops(Writer& out) : out_(out) {}

  /// The number of the loop that is put off.
  int number() const { return loop_; }
  const std::vector<Loop>& written() const { return loops_; }

  /// Adds a line to the loop, for each sixteen of this array, and the bytes that it writes.
  void add(const std::string& what, const std::string& line, const std::string& array, double written);
  /// Adds a line to the very end of the loop.
  void add_last(const std::string& what, const std::string& line, const std::string& array, double written);
  /// Adds a line for a tile's blocks, from `begin` to `end`, after the phase that has this array's elements; `to` is
  /// there in the next one. A tile has whole blocks.
  void add_of_blocks(const std::string& to, const std::string& line, std::size_t level, const std::string& block);
  /// Adds a line after the loop, which defines the variable if there is one.
  void add_behind(const std::string& line, std::optional<VariableId> id);
  /// Notes work of the loop and the bytes it moves, for `compllc --explain`.
  void note(const std::string& what, const std::string& array, double written);
  /// Notes a loop of its own, which is written elsewhere.
  void note_alone(const std::string& what, const std::string& array, double written);
  /// Writes the loop, and the lines that wait for it.
  void write();

  /// Returns true if a line after the loop defines the variable.
  bool awaits(VariableId id) const { return awaited_.count(id) != 0; }
  /// The phase that has an array's elements.
  std::size_t level(const std::string& array) const;
  void set_level(const std::string& array, std::size_t level);
  /// The bytes that an element of the array reads, by the memory it is made of.
  std::map<std::string, double>& read(const std::string& array) { return read_[array]; }
  /// Takes the array for one that the loop stores in memory.
  void keep(const std::string& array) { kept_.push_back(array); }
  bool keeps_any() const { return !kept_.empty(); }
  /// Takes the name for memory of n floats, which a tile prefetches.
  void add_memory(const std::string& name) { memories_.push_back(name); }
  /// Marks an array that has to be in memory before a sample is taken of it.
  void mark_one_by_one(const std::string& array) { one_by_one_.insert(array); }
  bool is_one_by_one(const std::string& array) const { return one_by_one_.count(array) != 0; }

 private:
  struct Phase {
    std::vector<std::string> elements;  ///< lines for each sixteen elements, `i`
    std::vector<std::string> blocks;    ///< lines after them for the tile's blocks
  };
  Phase& phase(std::size_t level);
  void write_tiles();
  void write_elements(const std::string& begin, const std::string& end, const Phase& phase);

  Writer& out_;
  std::vector<Loop> loops_;
  std::map<std::string, std::map<std::string, double>> read_;
  std::vector<std::string> memories_;
  std::set<std::string> one_by_one_;

  int loop_ = 1;
  std::vector<Phase> phases_;
  std::vector<std::string> tiles_;            ///< sizes of blocks that a tile has to be a multiple of
  std::vector<std::string> behind_;           ///< lines after it
  std::set<VariableId> awaited_;              ///< variables that those lines define
  std::map<std::string, std::size_t> level_;  ///< of arrays whose phase is not the first
  std::vector<std::string> last_;             ///< lines at its very end
  std::vector<std::string> kept_;             ///< arrays that it stores in memory
  Loop noted_;
  std::map<std::string, double> noted_reads_;
};

}  // namespace casync::compll
