// SPDX-License-Identifier: Apache-2.0
#include "proto/text_diagnostics.h"

#include <algorithm>
#include <cstdio>

namespace casync::proto {
namespace {

constexpr std::size_t kMostShown = 20;
constexpr int kTab = 8;
constexpr std::size_t kLongestQuote = 80;

}  // namespace

void TextDiagnostics::add_at(std::size_t offset, std::string message) {
  if (!full()) mistakes_.push_back({offset, std::move(message)});
}

Status TextDiagnostics::status() const {
  if (empty()) return Status::ok();
  std::vector<Mistake> sorted = mistakes_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Mistake& a, const Mistake& b) { return a.offset < b.offset; });
  std::string lines;
  for (std::size_t i = 0; i < std::min(sorted.size(), kMostShown); ++i) {
    const std::size_t offset = sorted[i].offset;
    // Without a newline before it npos + 1 is 0: the text's start.
    const std::size_t line_start = text_.substr(0, offset).rfind('\n') + 1;
    lines += i == 0 ? "" : "\n";
    lines += std::string(source_) + ":" + std::to_string(line_of(offset)) + ":" +
             std::to_string(offset - line_start + 1) + ": " + sorted[i].message;
  }
  if (sorted.size() > kMostShown)
    lines += std::string(full() ? "\nand at least " : "\nand ") + std::to_string(sorted.size() - kMostShown) + " more";
  return plan_error(std::move(lines));
}

std::size_t TextDiagnostics::offset_of(Place place) const {
  if (place < last_.place) last_ = {};
  auto& [at, offset] = last_;
  while (at.line < place.line) {
    const std::size_t newline = text_.find('\n', offset);
    if (newline == std::string_view::npos) return text_.size();
    at = {at.line + 1, 0};
    offset = newline + 1;
  }
  for (; offset < text_.size() && text_[offset] != '\n' && at.column < place.column; ++offset) {
    at.column = text_[offset] == '\t' ? (at.column / kTab + 1) * kTab : at.column + 1;
  }
  return offset;
}

int TextDiagnostics::line_of(std::size_t offset) const {
  const std::string_view before = text_.substr(0, offset);
  return 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
}

std::string quoted(std::string_view text, char mark) {
  std::string out(1, mark);
  for (char c : text.substr(0, kLongestQuote)) {
    char escape[5];
    if (c == mark || c == '\\') out += '\\';
    const bool plain = c >= 0x20 && c < 0x7f;
    std::snprintf(escape, sizeof escape, plain ? "%c" : "\\%03o", static_cast<unsigned char>(c));
    out += escape;
  }
  if (text.size() > kLongestQuote) out += "...";
  return out + mark;
}

}  // namespace casync::proto
