// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace casync::proto {

/// A place in a text as Protocol Buffers counts it: both from 0, a tab reaching to the next multiple of 8.
struct Place {
  int line = 0;
  int column = 0;
  auto operator<=>(const Place&) const = default;
};

/// The mistakes found in one text, each with its place.
class TextDiagnostics {
 public:
  /// Both must outlive this object. `source` is what messages call the text: a file's name.
  TextDiagnostics(std::string_view text, std::string_view source) : text_(text), source_(source) {}

  /// `message` reads "what was seen, what was expected (hint)". A place before the text (-1) means its start.
  void add(Place place, std::string message) {
    if (!full()) add_at(offset_of(place), std::move(message));
  }
  /// The same at a position in the text.
  void add_at(std::size_t offset, std::string message);

  bool empty() const { return mistakes_.empty(); }
  /// So many mistakes that no more are kept: each costs a walk through the text, and junk has one per byte.
  bool full() const { return mistakes_.size() >= 100; }
  void clear() { mistakes_.clear(); }

  /// OK, or PlanError: up to 20 mistakes in the order of the text as "source:line:column: message" (from 1,
  /// columns in bytes), one a line, then how many more were found.
  Status status() const;

  /// The position in the text of a place; the text's length when it lies after its end. Cheap for places that are
  /// asked for in the order of the text.
  std::size_t offset_of(Place place) const;
  /// The line of a position, from 1.
  int line_of(std::size_t offset) const;
  std::string_view text() const { return text_; }

 private:
  struct Mistake {
    std::size_t offset;
    std::string message;
  };

  /// A place and its position.
  struct Known {
    Place place;
    std::size_t offset = 0;
  };

  std::string_view text_, source_;
  mutable Known last_;  ///< the last answer of offset_of: where it goes on
  std::vector<Mistake> mistakes_;
};

/// Text as it may appear in a message: between quotation marks, control and non-ASCII bytes escaped, cut when long.
std::string quoted(std::string_view text, char mark = '"');

}  // namespace casync::proto
