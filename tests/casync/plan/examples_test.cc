// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "casync/planner/decide.h"
#include "casync/planner/plan_module/plan_io.h"
#include "tests/casync/plan/plan_texts.h"

namespace casync {
namespace {

const std::filesystem::path kRoot = CASYNC_SOURCE_DIR;

/// The blocks of a page that are marked with nothing but ```.
std::vector<std::string> plain_blocks(const std::string& page) {
  std::vector<std::string> blocks;
  std::istringstream lines(page);
  std::string line, block;
  bool inside = false, plain = false;
  while (std::getline(lines, line)) {
    if (line.starts_with("```")) {
      if (inside && plain) blocks.push_back(block);
      plain = line == "```";
      inside = !inside;
      block.clear();
    } else if (inside) {
      block += line + "\n";
    }
  }
  return blocks;
}

}  // namespace

TEST_CASE("plan: every plan in docs/plan.md and examples is read without a mistake") {
  const auto blocks = plain_blocks(text_of_file(kRoot / "docs/plan.md"));
  CHECK(blocks.size() == 13);
  for (const std::string& block : blocks) CHECK(parse_plan(block, "docs/plan.md").status().text() == "OK");
  const auto of_codec = plain_blocks(text_of_file(kRoot / "examples/02_write_a_codec/README.md"));
  CHECK(of_codec.size() == 1);
  for (const std::string& block : of_codec) CHECK(parse_plan(block, "README.md").status().text() == "OK");
  const auto examples = plans_in(kRoot / "examples/plans");
  CHECK(examples.size() >= 4);
  for (const auto& path : examples) CHECK(parse_plan(text_of_file(path), path.string()).status().text() == "OK");
}

TEST_CASE("plan: docs/plan.md begins with a plan of two lines") {
  const auto blocks = plain_blocks(text_of_file(kRoot / "docs/plan.md"));
  REQUIRE(!blocks.empty());
  CHECK(std::count(blocks[0].begin(), blocks[0].end(), '\n') == 2);
  CHECK(blocks[0] == text_of_file(kRoot / "examples/plans/two_lines.txtpb"));
}

TEST_CASE("plan: strengths are as docs/plan.md tells them") {
  const auto blocks = plain_blocks(text_of_file(kRoot / "docs/plan.md"));
  REQUIRE(blocks.size() >= 2);
  const Result<Plan> plan = parse_plan(blocks[1], "docs/plan.md");
  REQUIRE(plan.status().text() == "OK");
  const Decision decision =
      decide(*plan, {"layer0.weight", DType::kFloat32, {1024, 1024}, 9}, 4, [](const CodecChoice&) { return 1; });
  CHECK(decision.codec.name == "none");
  CHECK(decision.priority == 1);
  CHECK(decision.partitions == 4);
  CHECK(decision.strategy == StrategyKind::kRing);
}

TEST_CASE("plan: docs/plan.md names every field of the schema") {
  const std::string page = text_of_file(kRoot / "docs/plan.md"), schema = text_of_file(kRoot / "proto/plan.proto");
  std::istringstream lines(schema);
  int fields = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find(" = ");
    if (!line.starts_with("  optional ") && !line.starts_with("  repeated ")) continue;
    const std::string name = line.substr(line.rfind(' ', equals - 1) + 1, equals - line.rfind(' ', equals - 1) - 1);
    CAPTURE(name);
    CHECK(page.find(name) != std::string::npos);
    ++fields;
  }
  CHECK(fields >= 30);
}

}  // namespace casync
