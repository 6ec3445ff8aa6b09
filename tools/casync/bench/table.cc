// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/bench/table.h"

#include <cstdio>

#include "tools/casync/print_json.h"

namespace casync::tools {
namespace {

std::string cell(const nlohmann::ordered_json& value, const Column& column) {
  char text[64];
  if (value.is_number_float()) {
    const double number = value.get<double>();
    const bool tiny = number != 0 && number < 1e-3 && number > -1e-3;
    if (tiny) {
      std::snprintf(text, sizeof(text), "%.2e", number);
    } else {
      std::snprintf(text, sizeof(text), "%.*f", column.precision, number);
    }
    return text;
  }
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? "-" : value.dump();
}

/// A field as RFC 4180 has it: text is quoted where it would end the field or the row.
std::string csv_field(const nlohmann::ordered_json& value) {
  if (!value.is_string()) return value.dump();
  const std::string text = value.get<std::string>();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + "\"";
}

std::string padded(const std::string& text, int width) {
  const auto wide = static_cast<std::size_t>(width);
  return (text.size() < wide ? std::string(wide - text.size(), ' ') : "") + text;
}

}  // namespace

Table::Table(Format format, std::vector<std::string> about, std::vector<Column> columns)
    : format_(format), about_(std::move(about)), columns_(std::move(columns)) {
  if (format_ == Format::kJson) return;
  for (const std::string& line : about_) std::printf("# %s\n", line.c_str());
  std::string head = format_ == Format::kText ? "#" : "";
  for (const Column& column : columns_) {
    const bool first = &column == &columns_.front();
    head += format_ == Format::kCsv ? (first ? "" : ",") + column.key
                                    : padded(column.title, column.width - (first ? 1 : 0)) + " ";
  }
  std::printf("%s\n", head.c_str());
  std::fflush(stdout);
}

void Table::add(std::vector<nlohmann::ordered_json> values) {
  if (format_ == Format::kJson) {
    auto row = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < columns_.size(); ++i) row[columns_[i].key] = std::move(values[i]);
    rows_.push_back(std::move(row));
    return;
  }
  std::string line;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    line += format_ == Format::kCsv ? (i == 0 ? "" : ",") + csv_field(values[i])
                                    : padded(cell(values[i], columns_[i]), columns_[i].width) + " ";
  }
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void Table::end() {
  if (format_ != Format::kJson) return;
  print_json(nlohmann::ordered_json{{"about", about_}, {"rows", rows_}});
}

}  // namespace casync::tools
