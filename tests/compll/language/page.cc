// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/language/page.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

namespace casync::compll {
namespace {

constexpr const char* kFence = "```";

struct Fenced {
  std::vector<std::string> words;  ///< text after the fence
  std::string text;
  std::size_t line = 0;
};

std::vector<Fenced> fenced_blocks() {
  std::ifstream page(CASYNC_LANGUAGE_PAGE);
  REQUIRE(page);
  std::vector<Fenced> blocks;
  bool inside = false;
  std::string line;
  for (std::size_t number = 1; std::getline(page, line); ++number) {
    if (!line.starts_with(kFence)) {
      if (inside) blocks.back().text += line + "\n";
      continue;
    }
    inside = !inside;
    if (!inside) continue;
    std::istringstream words(line.substr(3));
    Fenced block{{}, "", number + 1};
    for (std::string word; words >> word;) block.words.push_back(word);
    blocks.push_back(block);
  }
  REQUIRE(!inside);
  return blocks;
}

bool is(const Fenced& block, const char* language) { return !block.words.empty() && block.words[0] == language; }

}  // namespace

std::vector<Example> examples_of_page() {
  std::vector<Example> examples;
  std::string functions;
  bool wants_text = false;
  for (const Fenced& block : fenced_blocks()) {
    INFO("docs/language.md:" << block.line);
    REQUIRE(wants_text == is(block, "text"));
    if (wants_text) {
      examples.back().said = block.text.substr(0, block.text.size() - 1);
      wants_text = false;
    }
    if (!is(block, "cll")) continue;
    Example example{block.words.size() > 1 ? block.words[1] : "", "", block.text, "", block.line};
    if (example.kind == "function") {
      REQUIRE(functions.empty());
      functions = example.text;
      continue;
    }
    wants_text = example.kind == "refused";
    REQUIRE((wants_text || example.kind.empty() || example.kind == "encode"));
    REQUIRE((functions.empty() || example.kind == "encode"));
    example.functions = std::move(functions);
    functions.clear();
    examples.push_back(std::move(example));
  }
  REQUIRE(!wants_text);
  REQUIRE(functions.empty());
  return examples;
}

std::string codec_around(const Example& example, const std::vector<std::string>& sent) {
  std::string all = "gradient", declared = "float* values;", extracted = "values";
  for (const std::string& declaration : sent) {
    const std::string name = declaration.substr(declaration.rfind(' ') + 1);
    all += ", " + name;
    declared += " " + declaration + ";";
    extracted += ", " + name;
  }
  return "void encode(float* gradient, uint8* compressed) {\n" + example.text + "compressed = concat(" + all +
         ");\n}\n" + "void decode(uint8* compressed, float* gradient) {\n" + declared + "\nextract(compressed, " +
         extracted + ");\ngradient = values;\n}\n" + example.functions;
}

}  // namespace casync::compll
