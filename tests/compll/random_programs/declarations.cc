// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/random_programs/declarations.h"

#include <algorithm>

namespace casync::compll::test {
namespace {

class DeclarationWriter {
 public:
  DeclarationWriter(Choices& choices, Choices& of_codings, Expressions& expressions, bool for_tiles)
      : choices_(choices), of_codings_(of_codings), expressions_(expressions) {
    declared_.for_tiles = for_tiles;
  }

  Declarations write() {
    std::string text = codec();  // one after the other: each draws from the same choices
    text += parameters();
    text += states();
    text += kHelpers;
    declared_.folds = choices_.one_in(4);
    choose_sections();
    choose_list();
    choose_codings();
    declared_.text = text;
    return declared_;
  }

 private:
  std::string codec() {
    std::string text = "codec random_program {\n";
    if (choices_.one_in(3)) text += choices_.one_in(3) ? "  feedback off;\n" : "  feedback;\n";
    if (choices_.one_in(8)) text += "  shared_numbers;\n";
    if (choices_.one_in(10)) text += "  overflow 65520;\n";
    return text + "}\n";
  }

  std::string parameters() {
    std::string text;
    if (choices_.one_in(2)) text += "  float p = " + std::string(choices_.one_in(2) ? "0.5" : "-3.25") + " in -8..8;\n";
    if (choices_.one_in(2)) text += "  uint k = " + std::to_string(choices_.between(1, 9)) + " in 1..1000;\n";
    if (choices_.one_in(3)) text += "  int m = -2 in {-2, 0, 5, 100000};\n";
    declared_.parameters = {};
    if (text.find(" p ") != text.npos) declared_.parameters.push_back({"p", Kind::kFloat});
    if (text.find(" k ") != text.npos) declared_.parameters.push_back({"k", Kind::kUint});
    if (text.find(" m ") != text.npos) declared_.parameters.push_back({"m", Kind::kInt});
    choose_blocks(text);
    choose_sizes();
    return text.empty() ? "" : "param {\n" + text + "}\n";
  }

  void choose_blocks(std::string& parameters) {
    static const std::vector<std::string> kForTiles = {"16", "32", "64", "128", "256", "1024", "4096"};
    static const std::vector<std::string> kAny = {"1",  "2",   "3",   "7",   "12",  "16",   "24",   "48",  "64",
                                                  "80", "100", "128", "200", "255", "1000", "4096", "5000"};
    const bool as_parameter = choices_.one_in(3);
    const std::string value = choices_.of(declared_.for_tiles ? kForTiles : kAny);
    if (as_parameter) {
      parameters += declared_.for_tiles ? "  uint block = " + value + " in 16..65536 step 16;\n"
                                        : "  uint block = " + value + " in 1..65536;\n";
    }
    declared_.blocks.push_back(as_parameter ? "block" : value);
    if (!declared_.for_tiles && choices_.one_in(4)) declared_.blocks.push_back(choices_.of(kAny));
    static const std::vector<std::string> kTurned = {"1", "2", "4", "8", "16", "32", "64", "128"};
    declared_.turned = choices_.of(kTurned);
    if (choices_.one_in(4)) {
      parameters += "  uint turned = 16 in {4, 16, 64};\n";
      declared_.turned = "turned";
    }
  }

  void choose_sizes() {
    static const std::vector<std::string> kSizes = {
        "selected(0.1, g.size)", "g.size / 3", "g.size * 100 / 1000",    "min(5, g.size)",
        "1 + g.size / 100",      "g.size - 2", "(g.size + 63) / 64 * 7", "g.size * 3 / 4 + 1",
        "uint(sqrt(g.size))",    "g.size % 17"};
    declared_.sizes.push_back(choices_.of(kSizes));
    if (choices_.one_in(2)) declared_.sizes.push_back(choices_.of(kSizes));
    if (std::any_of(declared_.parameters.begin(), declared_.parameters.end(),
                    [](const Scalar& each) { return each.text == "k"; })) {
      declared_.sizes.push_back("k");
    }
    if (choices_.one_in(2)) declared_.sizes.push_back(std::to_string(choices_.between(0, 40)));
  }

  std::string states() {
    std::string text;
    const int count = choices_.one_in(3) ? choices_.between(1, 3) : 0;
    for (int i = 0; i < count; ++i) {
      declared_.states.push_back("kept" + std::to_string(i));
      text += "state float* " + declared_.states.back() + (choices_.one_in(3) ? " = 0.5" : "") + ";\n";
    }
    return text;
  }

  void choose_sections() {
    const int count = choices_.between(1, 4);
    for (int i = 0; i < count; ++i) {
      SectionWord section{"sent" + std::to_string(i), expressions_.section_type(), kAll};
      const std::uint32_t which = choices_.below(10);
      if (which == 0) section.extent = "";
      if (which == 1 || which == 2) {
        section.extent = "blocks " + declared_.blocks.front();
        if (declared_.for_tiles && !choices_.one_in(4))
          section.type = {choices_.one_in(2) ? "float" : "uint8", Kind::kFloat};
        if (section.type.text == "uint8") section.type.kind = Kind::kInt;
      }
      if (which >= 3 && which <= 6 && !declared_.for_tiles) {
        section.extent = choices_.of(declared_.sizes);
        section.places = choices_.one_in(2);
        if (section.places) section.type = {"uint", Kind::kUint};
        if (section.places && choices_.one_in(4)) section.extent = "g.size";
      }
      declared_.sections.push_back(section);
    }
  }

  void choose_list() {
    if (declared_.for_tiles || !of_codings_.one_in(4)) return;
    declared_.is_list = true;
    const std::string size = of_codings_.one_in(2) ? "g.size" : of_codings_.of(declared_.sizes);
    declared_.sections.push_back({"sent_places", {"uint", Kind::kUint}, size, true});
    declared_.sections.push_back({"sent_values", {"float", Kind::kFloat}, size});
    declared_.sections.back().gathered_at = "sent_places";
  }

  void choose_codings() {
    if (!declared_.is_list && !of_codings_.one_in(4)) return;
    for (SectionWord& section : declared_.sections) {
      std::vector<std::string> codings = {""};
      if (!section.extent.empty() && section.type.text != "trit") codings.push_back("packed");
      if (codings.size() > 1 && section.type.text == "uint") codings.push_back("rising");
      if (codings.size() > 1 && section.type.text.find("int") != std::string::npos) codings.push_back("elias");
      section.coding = of_codings_.of(codings);
    }
  }

  Choices& choices_;
  Choices& of_codings_;
  Expressions& expressions_;
  Declarations declared_;
};

}  // namespace

Declarations random_declarations(Choices& choices, Choices& of_codings, Expressions& expressions, bool for_tiles) {
  return DeclarationWriter(choices, of_codings, expressions, for_tiles).write();
}

}  // namespace casync::compll::test
