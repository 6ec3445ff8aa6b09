// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compll/codegen/text/writer.h"
#include "compll/lang/program.h"

namespace casync::compll {

struct CudaWholeRoutine;

/// The stages of a routine: each has steps, and a part that the last tile then runs. The layout of the memory that they
/// use follows from a segment's size.
class CudaStages {
 public:
  explicit CudaStages(CudaWholeRoutine& text) : text_(text) {}

  /// Adds a step: its lines in that stage, and the part that the last tile then runs.
  void add(std::uint32_t stage, std::function<void()> write, std::function<void()> finish = {});
  /// Adds a step that reads only the tile's own elements: it may go through them in pieces. `chunks`: all warps have
  /// work with so many times tile_elements.
  void add_own(std::uint32_t stage, std::function<void()> write, std::function<void()> finish = {},
               std::uint32_t chunks = 1);
  /// Adds a step ahead of all others of the first stage.
  void add_first(std::function<void()> write, std::function<void()> finish);
  /// Makes the step that was added last go through the tile at once.
  void keep_together() { steps_.back().piece = 0; }
  std::uint32_t count() const { return stages_; }

  /// Zeros of memory that is zero at first and has to be so afterwards: the last tile clears it, or a step does.
  enum class Zeros { kNone, kCleared, kByStep };
  /// Takes so many bytes of the segment's memory.
  std::string place(const std::string& word, const std::string& bytes, Zeros zeros = Zeros::kNone);
  /// Takes memory as an array of this type.
  std::string memory(const std::string& type, const std::string& word, const std::string& bytes,
                     Zeros zeros = Zeros::kNone) {
    return "part.at<" + type + ">(" + place(word, bytes, zeros) + ")";
  }
  /// Adds a search for the largest elements, by its name, which stages may refer to.
  void add_search(const std::string& name, const std::string& initial) { searches_[name] = initial; }

  /// Writes struct NAME { ... }, with constants next to kStages; `end` writes the last tile's work after all stages.
  void write(const std::string& name, const std::string& constants, const std::function<void()>& end);
  /// Writes the last tile's work after all steps.
  void clear_memory();
  /// Writes a struct whose members follow from n, settings and Lengths: `members` are lines that declare them, `body`
  /// sets them.
  static void write_measures(const Program& program, const std::string& name, const std::vector<std::string>& members,
                             Writer& out, const std::function<void()>& body);
  /// Returns true if the text refers to this name.
  static bool has_word(const std::string& text, const std::string& word);

 private:
  struct StageStep {
    std::uint32_t stage;
    std::function<void()> write, finish;
    std::uint32_t piece = 0;  ///< the multiple of tile_elements that it can be run for at a time; 0: the tile
  };
  struct Place {
    std::string word, bytes;
    Zeros zeros;
  };
  void write_memory();
  static void write_lengths(const Program& program, const std::string& text, Writer& out);
  void write_geometry();
  void write_steps(std::uint32_t stage);
  void write_preamble(const std::string& lines);

  CudaWholeRoutine& text_;
  std::vector<StageStep> steps_;
  std::vector<Place> memory_;
  std::map<std::string, std::string> searches_;  ///< by name: their initializers
  std::uint32_t stages_ = 1;
};

}  // namespace casync::compll
