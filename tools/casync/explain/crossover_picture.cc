// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/explain/crossover_picture.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tools/casync/formatted.h"

namespace casync::tools {
namespace {

constexpr double kLeft = 90, kTop = 40, kWidth = 640, kHeight = 400;
// Told apart in print and by most eyes; the first is what is not compressed.
constexpr const char* kColours[] = {"#cccccc", "#1f77b4", "#ff7f0e", "#2ca02c",
                                    "#9467bd", "#8c564b", "#e377c2", "#17becf"};

constexpr double kRoundGigabits[] = {0.1, 0.25, 1, 2.5, 10, 25, 100, 400};

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    safe += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : c == '"' ? "&quot;" : std::string(1, c);
  }
  return safe;
}

std::string name_of(const Decision& decision) {
  if (decision.codec == decision.second_hop)
    return decision.codec.name == "none" ? "uncompressed" : text_of(decision.codec);
  return (decision.codec.name == "none" ? "uncompressed" : text_of(decision.codec)) + " to the owner, " +
         (decision.second_hop.name == "none" ? "uncompressed" : text_of(decision.second_hop)) + " on the way back";
}

std::string label(double x, double y, const char* anchor, const std::string& text) {
  return formatted("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor) + escaped(text) + "</text>\n";
}

/// Every so many of `count`, so that about six are named.
std::size_t every(std::size_t count) { return std::max<std::size_t>(1, count / 6); }

}  // namespace

std::string text_of_bandwidth(double bytes_per_second) {
  const double bits = 8 * bytes_per_second;
  return bits < 0.9995e9 ? formatted("%.3g Mb/s", bits / 1e6) : formatted("%.3g Gb/s", bits / 1e9);
}

std::string text_of_size(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  for (; bytes >= 1023.5 && unit < 3; ++unit) bytes /= 1024;
  return formatted("%.3g %s", bytes, kUnits[unit]);
}

std::string crossover_svg(const Crossover& crossover, double here, const std::string& title) {
  const std::size_t columns = crossover.bytes.size(), rows = crossover.bytes_per_second.size();
  const double width = kWidth / static_cast<double>(columns), height = kHeight / static_cast<double>(rows);
  std::map<std::string, std::size_t> colour_of{{"uncompressed", 0}};
  std::string cells;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      const Crossover::Cell& cell = crossover.cells[row * columns + column];
      const auto colour = colour_of.emplace(name_of(cell.decision), colour_of.size()).first->second;
      const double saved = cell.plain_s > 0 ? 1 - cell.seconds / cell.plain_s : 0;
      cells += formatted(
          "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\" fill-opacity=\"%.2f\"/>\n",
          kLeft + static_cast<double>(column) * width, kTop + kHeight - static_cast<double>(row + 1) * height,
          width + 0.3, height + 0.3, kColours[colour % std::size(kColours)], colour == 0 ? 1 : 0.35 + 0.65 * saved);
    }
  }
  std::string svg =
      formatted("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" ", 960, 500) +
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" +
      label(kLeft, 24, "start", title) + cells;
  for (std::size_t column = 0; column < columns; column += every(columns)) {
    svg += label(kLeft + (static_cast<double>(column) + 0.5) * width, kTop + kHeight + 18, "middle",
                 text_of_size(crossover.bytes[column]));
  }
  const double slowest = crossover.bytes_per_second.front(), fastest = crossover.bytes_per_second.back();
  const auto height_of = [&](double bandwidth) {  // the rows' middles are equal steps of the logarithm
    const double part = std::log(bandwidth / slowest) / std::log(fastest / slowest);
    return kTop + kHeight - height / 2 - part * (kHeight - height);
  };
  for (const double gigabits : kRoundGigabits) {
    const double bandwidth = gigabits * 1e9 / 8;
    if (rows < 2 || bandwidth < slowest * 0.999 || bandwidth > fastest * 1.001) continue;
    svg += label(kLeft - 6, height_of(bandwidth) + 4, "end", text_of_bandwidth(bandwidth));
  }
  svg += label(kLeft + kWidth / 2, kTop + kHeight + 40, "middle", "size of the gradient; darker: saves more");
  svg += formatted("<text x=\"16\" y=\"%.1f\" text-anchor=\"middle\" transform=\"rotate(-90 16 %.1f)\">",
                   kTop + kHeight / 2, kTop + kHeight / 2) +
         "bandwidth of the slowest link</text>\n";
  if (rows > 1 && here >= slowest && here <= fastest) {
    svg +=
        formatted("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"black\" stroke-dasharray=\"6 4\"/>\n",
                  kLeft, height_of(here), kLeft + kWidth, height_of(here)) +
        label(kLeft + kWidth - 6, height_of(here) - 5, "end", "you are here: " + text_of_bandwidth(here));
  }
  double y = kTop + 12;
  for (const auto& [name, colour] : colour_of) {
    svg += formatted("<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", kLeft + kWidth + 16,
                     y - 10, kColours[colour % std::size(kColours)]) +
           label(kLeft + kWidth + 34, y, "start", name);
    y += 20;
  }
  return svg + "</svg>\n";
}

}  // namespace casync::tools
