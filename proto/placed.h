// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/descriptor.h>

#include <cctype>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "proto/text_diagnostics.h"
#include "proto/text_reader.h"

namespace casync::proto {

/// A message that read_text has read, with the places of its fields and the diagnostics for mistakes in it. Fields
/// are named by number (Message::kNameFieldNumber). Borrows everything.
template <class Message>
class Placed {
 public:
  Placed(const Message& message, const Places* places, Place own, TextDiagnostics& diagnostics)
      : message_(message), places_(places), own_(own), diagnostics_(diagnostics) {}

  const Message* operator->() const { return &message_; }

  /// The place of the message, and of a field of it (its index-th value when it is repeated).
  Place place() const { return own_; }
  Place place(int number, int index = -1) const { return range(number, index).first; }
  int line(int number, int index = -1) const {
    return diagnostics_.line_of(diagnostics_.offset_of(place(number, index)));
  }

  /// A message inside this one.
  template <class Inner>
  Placed<Inner> inner(const Inner& message, int number, int index = -1) const {
    const Places* places = places_ == nullptr ? nullptr : places_->GetTreeForNested(field(number), index);
    return {message, places, place(number, index), diagnostics_};
  }

  /// A mistake: in the message, in one of its fields.
  void refuse(std::string what) const { diagnostics_.add(own_, std::move(what)); }
  void refuse(int number, std::string what) const { diagnostics_.add(place(number), std::move(what)); }

  /// Returns true if there are so many mistakes that reading on is of no use.
  bool hopeless() const { return diagnostics_.full(); }

  /// A field's value when it is set and from `least` to `most`; outside it is a mistake.
  std::optional<std::int64_t> within(int number, bool set, std::int64_t value, std::int64_t least,
                                     std::int64_t most = std::numeric_limits<std::int64_t>::max()) const {
    if (!set) return std::nullopt;
    if (value >= least && value <= most) return value;
    std::string range = "at least " + std::to_string(least);
    if (most != std::numeric_limits<std::int64_t>::max()) range += " and at most " + std::to_string(most);
    refuse(number, std::string(field(number)->name()) + " " + std::to_string(value) + ", expected " + range);
    return std::nullopt;
  }

  /// Returns true if a field's value was written as a number: its last word, which may end in a digit, begins with one.
  bool written_as_number(int number) const {
    const std::string_view text = diagnostics_.text();
    const auto in_word = [&](std::size_t at) {
      const auto byte = static_cast<unsigned char>(text[at]);
      return std::isalnum(byte) != 0 || byte == '_';
    };
    std::size_t begin = diagnostics_.offset_of(range(number, -1).second);
    const std::size_t end = begin;
    while (begin > 0 && in_word(begin - 1)) --begin;
    return begin < end && std::isdigit(static_cast<unsigned char>(text[begin])) != 0;
  }

 private:
  static const google::protobuf::FieldDescriptor* field(int number) {
    return Message::descriptor()->FindFieldByNumber(number);
  }

  std::pair<Place, Place> range(int number, int index) const {
    if (places_ == nullptr) return {own_, own_};
    const auto found = places_->GetLocationRange(field(number), index);
    if (found.start.line < 0) return {own_, own_};
    return {{found.start.line, found.start.column}, {found.end.line, found.end.column}};
  }

  const Message& message_;
  const Places* places_;
  Place own_;
  TextDiagnostics& diagnostics_;
};

}  // namespace casync::proto
