// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/idioms.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "compll/ir/tiles/lower.h"
#include "compll/lang/front_end.h"

namespace casync::compll {
namespace {

// The program text of the codec fp16.
constexpr const char* kHalf = R"(
void encode(float* gradient, uint8* compressed) {
  uint16* halves = map(gradient, [&](float x) -> uint16 {
    uint sign = bits(x) >> 16 & 0x8000;
    if (x != x) return sign | 0x7e00 | bits(x) >> 13 & 0x3ff;
    return sign | min(small_float(x, 10, 15), 0x7c00);
  });
  compressed = concat(halves);
}
void decode(uint8* compressed, float* gradient) {
  uint16* halves;
  extract(compressed, halves);
  gradient = map(halves, [&](uint code) -> float {
    uint sign = (code & 0x8000) << 16;
    uint magnitude = code & 0x7fff;
    uint quiet = magnitude > 0x7c00 ? 0x400000 : 0;
    if (magnitude >= 0x7c00) return from_bits(sign | 0x7f800000 | quiet | (magnitude & 0x3ff) << 13);
    return from_bits(sign | bits(from_small_float(magnitude, 10, 15)));
  });
}
)";

/// A value that is computed from `argument`.
struct Pattern {
  std::string_view function;
  const Graph& graph;
  ValueId result, argument;
};

const Lowered& half() {
  static const Lowered lowered = [] {
    const Source source("half", kHalf);
    const Result<Program> program = compile(source);
    CASYNC_CHECK(program.is_ok());
    Result<Lowered> made = lower(*program, source);
    CASYNC_CHECK(made.is_ok());
    return std::move(*made);
  }();
  return lowered;
}

/// The codes of a payload, converted to the type that the program computes with.
ValueId widened_section(const Graph& graph) {
  const auto& values = graph.values();
  const auto widened = std::find_if(values.begin(), values.end(), [&](const Value& value) {
    return value.op == Op::kConvert && !value.arguments.empty() &&
           graph[value.arguments.front()].kind == Value::Kind::kSection;
  });
  CASYNC_CHECK(widened != values.end());
  return static_cast<ValueId>(widened - values.begin());
}

std::vector<Pattern> patterns() {
  const Lowered& known = half();
  return {{"to_half", known.encode.graph, known.encode.sections.front(), known.encode.input},
          {"from_half", known.decode.graph, known.decode.result, widened_section(known.decode.graph)}};
}

/// Compares two graphs from their results down. Equal values of a graph are one value, so each value of the pattern
/// matches one value.
class Match {
 public:
  Match(const Graph& graph, const Pattern& pattern) : graph_(graph), pattern_(pattern) {}

  bool matches(ValueId pattern, ValueId id) {
    const auto [known, is_new] = matched_.try_emplace(pattern, id);
    if (!is_new) return known->second == id;
    const Value &a = pattern_.graph[pattern], &b = graph_[id];
    if (a.type != b.type) return false;
    if (pattern == pattern_.argument) return true;
    const bool same = a.kind == b.kind && a.domain == b.domain && a.op == b.op && a.number == b.number &&
                      a.arguments.size() == b.arguments.size() &&
                      (a.kind == Value::Kind::kCompute || a.kind == Value::Kind::kConstant);
    if (!same) return false;
    for (std::size_t i = 0; i < a.arguments.size(); ++i) {
      if (!matches(a.arguments[i], b.arguments[i])) return false;
    }
    return true;
  }
  ValueId argument() const { return matched_.at(pattern_.argument); }

 private:
  const Graph& graph_;
  const Pattern& pattern_;
  std::map<ValueId, ValueId> matched_;
};

/// The values of elements that these need only where no idiom computes them.
std::set<ValueId> replaced_by(const std::map<ValueId, Idiom>& idioms, const Graph& graph,
                              const std::vector<ValueId>& results) {
  std::vector<bool> before(graph.values().size(), false);
  for (const ValueId id : results) before[id] = true;
  std::vector<bool> now = before;
  std::set<ValueId> replaced;
  for (ValueId id = static_cast<ValueId>(graph.values().size()); id-- > 0;) {
    const auto idiom = idioms.find(id);
    for (const ValueId argument : graph[id].arguments) {
      before[argument] = before[argument] || before[id];
      now[argument] = now[argument] || (now[id] && idiom == idioms.end());
    }
    if (now[id] && idiom != idioms.end()) now[idiom->second.argument] = true;
    if (before[id] && !now[id] && graph[id].domain == Domain::kElement) replaced.insert(id);
  }
  return replaced;
}

}  // namespace

Idioms idioms_of(const Graph& graph, const std::vector<ValueId>& results) {
  Idioms found;
  for (const Pattern& pattern : patterns()) {
    for (ValueId id = 0; id < graph.values().size(); ++id) {
      if (graph[id].domain != Domain::kElement) continue;
      Match match(graph, pattern);
      if (match.matches(pattern.result, id)) found.values[id] = {pattern.function, match.argument()};
    }
  }
  if (!found.values.empty()) found.replaced = replaced_by(found.values, graph, results);
  return found;
}

}  // namespace casync::compll
