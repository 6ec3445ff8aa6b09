// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "compll/codegen/text/writer.h"
#include "compll/ir/vector/cuda/plan.h"
#include "compll/lang/program.h"

namespace casync::compll {

struct CudaVectorRoutine;

/// Spells the stages of a launch, and the layout of the workspace, which follows from a segment's size.
class CudaStages {
 public:
  explicit CudaStages(CudaVectorRoutine& text) : text_(text) {}

  /// Writes struct NAME { ... }, with constants next to kStages; `last`: lines of the last tile after all stages.
  void write(const std::string& name, const std::string& constants, const std::vector<std::string>& last);
  /// Writes a struct whose members follow from n, settings and Lengths: `members` are lines that declare them, `body`
  /// sets them.
  static void write_measures(const Program& program, const std::string& name, const std::vector<std::string>& members,
                             Writer& out, const std::function<void()>& body);
  /// Returns true if the text refers to this name.
  static bool has_word(const std::string& text, const std::string& word);

 private:
  void write_memory();
  static void write_lengths(const Program& program, const std::string& text, Writer& out);
  void write_geometry();
  void write_stage(std::size_t number, const std::vector<std::string>& last);
  void write_works(const cuda_vector::Stage& stage);
  void write_preamble(const std::string& lines);
  void write_dispatch();
  std::string searches_in(const std::string& lines);
  bool decodes() const;

  CudaVectorRoutine& text_;
};

}  // namespace casync::compll
