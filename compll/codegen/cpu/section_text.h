// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "compll/ir/tiles/graph.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// The text that loads and stores a payload's sections.
class SectionText {
 public:
  explicit SectionText(const Program& program) : program_(program) {}

  /// The pointer to a section; `concat` may name one thing twice.
  std::string name(std::uint32_t index) const { return word(index, "_at"); }
  /// The object that packs the section's codes.
  std::string packed(std::uint32_t index) const { return word(index, "_packed"); }
  std::string load_one(const Value& value, const std::string& index) const;
  std::string load_group(const Value& value) const;
  static std::string fetch(ScalarType type, const std::string& section);
  static std::string store_one(ScalarType type, const std::string& value, const std::string& at);
  /// Stores sixteen elements. Trits continue in the byte that the previous tile has begun.
  std::string store_group(ScalarType type, const std::string& value, std::uint32_t index) const;

 private:
  std::string word(std::uint32_t index, const std::string& what) const;

  const Program& program_;
};

}  // namespace casync::compll
