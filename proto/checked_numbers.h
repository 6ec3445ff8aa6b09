// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cmath>
#include <string>

#include "proto/placed.h"

namespace casync::proto {

/// The shortest text that reads back as the same number.
inline std::string number_text(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

/// A field's finite value of at least `least`; anything else is a mistake, and then it is `least`.
template <class Message>
double checked(const Placed<Message>& from, int number, double value, double least) {
  if (std::isfinite(value) && value >= least) return value;
  const std::string name(Message::descriptor()->FindFieldByNumber(number)->name());
  from.refuse(number, name + " " + number_text(value) + ", expected a finite number of at least " + number_text(least));
  return least;
}

/// The same for a field that must be there.
template <class Message>
double required(const Placed<Message>& from, int number, bool set, double value, double least) {
  if (set) return checked(from, number, value, least);
  from.refuse("no " + std::string(Message::descriptor()->FindFieldByNumber(number)->name()) + ", expected a number");
  return least;
}

/// Returns true if the text is of this version of its format; records a mistake if not.
template <class Message>
bool version_is(const Placed<Message>& from, int version) {
  const std::string expected = ", expected version: " + std::to_string(version);
  if (!from->has_version()) {
    from.refuse("no version" + expected);
  } else if (from->version() != version) {
    from.refuse(Message::kVersionFieldNumber, "version " + std::to_string(from->version()) + expected +
                                                  " (the file was written for another CaSync than this)");
  }
  return from->version() == version;
}

}  // namespace casync::proto
