// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace casync::compll {

/// 128 bits of XXH3 over several texts, as 32 hexadecimal digits. Where one text ends and the next begins counts.
class DigestWriter {
 public:
  DigestWriter();
  ~DigestWriter();

  DigestWriter& add(std::string_view text);
  std::string text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace casync::compll
