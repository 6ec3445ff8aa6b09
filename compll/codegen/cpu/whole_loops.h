// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "compll/codegen/cpu/whole_values.h"
#include "compll/codegen/text/writer.h"
#include "compll/ir/vector/cpu/plan.h"

namespace casync::compll {

/// Spells a loop over all elements and its work.
class WholeLoops {
 public:
  WholeLoops(const cpu_whole::Routine& plan, WholeValues& values, Writer& out)
      : plan_(plan), values_(values), out_(out) {}

  void write(const cpu_whole::ElementLoop& loop);

 private:
  void write_tiles(const cpu_whole::ElementLoop& loop);
  void write_elements(const cpu_whole::ElementLoop& loop, std::size_t phase, const std::string& begin,
                      const std::string& end);
  void write_blocks(const cpu_whole::ElementLoop& loop, std::size_t phase);

  // Work for sixteen elements.
  void write_work(const cpu_whole::TakeInput& work);
  void write_work(const cpu_whole::KeepElements& work);
  void write_work(const cpu_whole::CopyElements& work);
  void write_work(const cpu_whole::FeedSearch& work);
  void write_work(const cpu_whole::FeedReducer& work);
  void write_work(const cpu_whole::StoreCodes& work);
  void write_work(const cpu_whole::StoreState& work);
  void write_work(const cpu_whole::GiveElements& work);

  // Work for the blocks of a tile.
  std::string block_text(const cpu_whole::ReduceBlocks& work, int loop);
  std::string block_text(const cpu_whole::ComputeBlocks& work, int loop);
  std::string block_text(const cpu_whole::RotateBlocks& work, int loop);

  std::string name(cpu_whole::Id id) const { return values_.name(id); }
  /// Sixteen elements of an array.
  std::string at(cpu_whole::Id id) const { return name(id) + "(i)"; }

  const cpu_whole::Routine& plan_;
  WholeValues& values_;
  Writer& out_;
};

/// The function that stores codes: `one` element, `all` of a section, or sixteen, `codes_at` a place.
std::string store_function(const std::string& what, ScalarType type);

}  // namespace casync::compll
