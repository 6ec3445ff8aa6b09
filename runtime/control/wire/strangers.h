// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "base/clock.h"

namespace casync::runtime {

/// Counts callers that were refused: one log line per source and minute, and a summary for the error that names
/// missing ranks. Bounded: a scan from many sources counts as one.
class Strangers {
 public:
  void refused(const std::string& source, const std::string& why, Clock::time_point now);
  /// A caller had to make room for newer ones, and may come back: counted, not logged.
  void put_off() { ++put_off_; }
  /// "refused meanwhile: 10.0.0.7 (3 times, last: wrong token)", "" when nobody was.
  std::string summary() const;

 private:
  struct Source {
    long count = 0;
    std::string last;
    Clock::time_point logged;
  };
  std::map<std::string, Source> sources_;
  long put_off_ = 0;
};

}  // namespace casync::runtime
