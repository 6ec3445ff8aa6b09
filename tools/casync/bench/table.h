// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace casync::tools {

enum class Format { kText, kCsv, kJson };

/// One column of a benchmark: its title carries the unit.
struct Column {
  std::string key;    ///< in JSON and CSV, with the unit as its ending
  std::string title;  ///< above the column
  int width = 10;
  int precision = 2;  ///< digits after the point of numbers that are no integers
};

/// Rows on stdout, each as soon as it is known (JSON: at the end, one object with `about` and `rows`). Text and
/// CSV begin with `about` as lines that start with #.
class Table {
 public:
  Table(Format format, std::vector<std::string> about, std::vector<Column> columns);
  void add(std::vector<nlohmann::ordered_json> values);
  void end();

 private:
  Format format_;
  std::vector<std::string> about_;
  std::vector<Column> columns_;
  nlohmann::ordered_json rows_ = nlohmann::ordered_json::array();
};

}  // namespace casync::tools
