// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "compll/codegen/cpu/vector_values.h"
#include "compll/codegen/text/writer.h"
#include "compll/ir/vector/cpu/plan.h"

namespace casync::compll {

/// Spells a loop over all elements and its work.
class VectorLoops {
 public:
  VectorLoops(const cpu_vector::Routine& plan, VectorValues& values, Writer& out)
      : plan_(plan), values_(values), out_(out) {}

  void write(const cpu_vector::ElementLoop& loop);

 private:
  void write_tiles(const cpu_vector::ElementLoop& loop);
  void write_elements(const cpu_vector::ElementLoop& loop, std::size_t phase, const std::string& begin,
                      const std::string& end);
  void write_blocks(const cpu_vector::ElementLoop& loop, std::size_t phase);

  // Work for sixteen elements.
  void write_work(const cpu_vector::TakeInput& work);
  void write_work(const cpu_vector::KeepElements& work);
  void write_work(const cpu_vector::CopyElements& work);
  void write_work(const cpu_vector::FeedSearch& work);
  void write_work(const cpu_vector::FeedReducer& work);
  void write_work(const cpu_vector::StoreCodes& work);
  void write_work(const cpu_vector::StoreState& work);
  void write_work(const cpu_vector::GiveElements& work);

  // Work for the blocks of a tile.
  std::string block_text(const cpu_vector::ReduceBlocks& work, int loop);
  std::string block_text(const cpu_vector::ComputeBlocks& work, int loop);
  std::string block_text(const cpu_vector::RotateBlocks& work, int loop);

  std::string name(cpu_vector::Id id) const { return values_.name(id); }
  /// Sixteen elements of an array.
  std::string at(cpu_vector::Id id) const { return name(id) + "(i)"; }

  const cpu_vector::Routine& plan_;
  VectorValues& values_;
  Writer& out_;
};

/// The function that stores codes: `one` element, `all` of a section, or sixteen, `codes_at` a place.
std::string store_function(const std::string& what, ScalarType type);

}  // namespace casync::compll
