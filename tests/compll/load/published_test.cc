// SPDX-License-Identifier: Apache-2.0
//
// Programs in the style in which CompLL's authors publish theirs: encode and decode in a file each, parameters that the
// caller declares, sizes that subtract a padding.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <functional>

#include "base/codec_file.h"
#include "compll/codec/payload.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/programs.h"
#include "tests/compll/support/run_codec.h"
#include "tests/support/temporary_directory.h"

namespace casync::compll {
namespace {

constexpr const char* kEncode = R"(// Levels between the least and the greatest element, rounded at random.
void LevelsEncode(float* gradient, uint8* compressed, uint8 bitwidth){
    lambda_func larger = [&](float a, float b) -> float{
        if (a > b){
            return a;
        }
        else{
            return b;
        }
    }
    lambda_func lesser = [&](float a, float b) -> float{
        if (a < b){
            return a;
        }
        else {
            return b;
        }
    }
    float max = reduce(gradient, -99999, larger);
    float min = reduce(gradient, 99999, lesser);
    float gap = (max - min) / ( (1<<bitwidth) -1 );
    uint8 tail = gradient.size % ( 1<<bitwidth);
    lambda_func to_level = [&](int index) -> uint<bitwidth> {
        float r = (gradient[index] - min) / gap + random<float>(0,1);
        return floor(r);
    }
    uint<bitwidth>* Q = map(range(gradient.size), to_level);
    compressed = concat(bitwidth, tail, min, max, Q);
}
)";

constexpr const char* kDecode = R"(void LevelsDecode(uint8* compressed, float* gradient){
    uint8 bitwidth;
    uint8 tail;
    float min;
    float max;
    uint<bitwidth>* Q;
    extract(compressed, bitwidth, tail, min, max, Q);
    float gap = (max - min) / ((1<<bitwidth) - 1);
    lambda_func to_value = [&](int index) -> float{
        return Q[index]*gap + min;
    }
    int true_size = Q.size - tail;
    gradient = map(range(true_size), to_value);
}
)";

class Files {
 public:
  std::string write(const std::string& file, const std::string& text) const {
    std::string path = folder_.path() + "/" + file;
    std::ofstream(path) << text;
    return path;
  }
  std::string both(const std::string& encode = kEncode, const std::string& decode = kDecode) const {
    return write("LevelsEncode.pse", encode) + "+" + write("LevelsDecode.pse", decode);
  }

 private:
  test::TemporaryDirectory folder_;
};

std::string published_refusal(const std::string& path, const Parameters& parameters = {}) {
  const Result<std::unique_ptr<Codec>> codec = make_codec(path, parameters);
  return codec.is_ok() ? "no refusal" : codec.status().text();
}

}  // namespace

TEST_CASE("published: names of one file and of two") {
  using Names = std::vector<std::string>;
  CHECK(is_codec_file("a.pse+b.pse"));
  CHECK(codec_files("a/b.pse+c/d.cll") == Names{"a/b.pse", "c/d.cll"});
  CHECK(codec_files("a+b.cll") == Names{"a+b.cll"});
  CHECK(codec_files("./a+b/c.cll+d+e.cll") == Names{"./a+b/c.cll", "d+e.cll"});
  CHECK(codec_file_name({"a.pse", "b.pse"}) == "a.pse+b.pse");
}

TEST_CASE("published: two files and the caller's parameter are a codec whose levels come back") {
  const Files files;
  const std::string path = files.both();
  for (const unsigned bits : {2, 3}) {
    const Result<std::unique_ptr<Codec>> codec = make_codec(path, {{{"bitwidth", bits}}});
    REQUIRE(codec.status().text() == "OK");
    CHECK((*codec)->info().name == "Levels");
    CHECK((*codec)->info().values == std::vector<double>{static_cast<double>(bits)});
    for (const Elements n : {1, 5, 4096, 4099}) {
      INFO(bits << " bits, " << n << " elements");
      const std::vector<float> x = gaussian(n, 1);
      const std::vector<float> y = round_trip(**codec, x);
      const auto [least, most] = std::minmax_element(x.begin(), x.end());
      const float gap = (*most - *least) / static_cast<float>((1u << bits) - 1);
      for (Elements i = 0; i < n; ++i) CHECK(std::fabs(y[i] - x[i]) <= gap * 1.001f);
    }
  }
}

TEST_CASE("published: without a value for what the caller declares it is refused, and which is said") {
  const Files files;
  const std::string path = files.both();
  CHECK(published_refusal(path) ==
        "InvalidArgument: codec `Levels`: parameter `bitwidth` has no default: say bitwidth=VALUE where the codec is "
        "named; it takes a whole number from 0 to 255");
  CHECK(published_refusal(path, {{"bitwidth", 256}}) ==
        "InvalidArgument: codec `Levels`: parameter `bitwidth` is 256, expected a whole number from 0 to 255");
  CHECK_THAT(published_refusal(path, {{"bitwidth", 0}}),
             Catch::Contains("LevelsEncode.pse:23:51: error: a width of 0 bits"));
  CHECK_THAT(published_refusal(path, {{"bitwidth", 2}, {"bits", 3}}), Catch::Contains("no parameter `bits`"));
  const std::string ratio =
      files.write("r.cll", changed(source_of("topk"), "double ratio = 0.01 in", "double ratio in"));
  CHECK_THAT(published_refusal(ratio), Catch::Contains("parameter `ratio` has no default"));
}

TEST_CASE("published: a mistake has the line of its own file") {
  const Files files;
  const std::string broken = changed(kDecode, "Q[index]*gap", "Q[index]*gip");
  CHECK_THAT(published_refusal(files.both(kEncode, broken), {{"bitwidth", 2}}),
             Catch::Contains("/LevelsDecode.pse:10:25: error: there is no `gip`"));
  const std::string open = "/* never closed\n";
  CHECK_THAT(published_refusal(files.both(kEncode, open + kDecode), {{"bitwidth", 2}}),
             Catch::Contains("/LevelsDecode.pse:1:1: error: this comment has no end"));
  CHECK_THAT(published_refusal(files.both(open + kEncode, std::string("/* closed */\n") + kDecode), {{"bitwidth", 2}}),
             Catch::Contains("/LevelsEncode.pse:1:1: error: this comment has no end"));
  CHECK_THAT(published_refusal(files.write("a.pse", kEncode) + "+nowhere.pse"),
             Catch::Contains("nowhere.pse: no such file"));
  CHECK_THAT(published_refusal(files.both() + "+" + files.write("c.pse", "")),
             Catch::Contains("3 files, expected one"));
}

TEST_CASE("published: a definition of both files in the same words counts once, in other words it is a second one") {
  const Files files;
  const std::string helper = "float twice(float x) { return 2 * x; }\n";
  const std::string encode = "param { uint8 bitwidth = 2; }\nfloat a, b;\n" + helper + kEncode;
  const std::string decode = "param { uint8 bitwidth = 2; }\nfloat a, b;\n" + helper + kDecode;
  CHECK(published_refusal(files.both(encode, decode)) == "no refusal");
  CHECK_THAT(published_refusal(files.both(encode, changed(decode, "return 2 * x;", "return x + x;"))),
             Catch::Contains("LevelsDecode.pse:3:7: error: `twice` is declared twice"));
}

TEST_CASE("published: spellings of C mean what they mean there, compiled and interpreted") {
  const Files files;
  const std::string text = test_program("published_spelling"), path = files.write("spelled.cll", text);
  const Elements n = 1001;
  const std::vector<float> x = gaussian(n, 1);
  std::vector<float> sorted = x;
  std::sort(sorted.begin(), sorted.end());
  for (const double bits : {2.0, 4.0}) {
    CAPTURE(bits);
    const Result<std::unique_ptr<Codec>> codec = make_codec(path, {{{"bitwidth", bits}}});
    REQUIRE(codec.status().text() == "OK");
    Coded is = encode(**codec, x);
    const Coded should = encode(*from_text("spelled", text, {{"bitwidth", bits}}).codec, x);
    std::copy_n(should.payload.begin(), kHeaderBytes - sizeof n, is.payload.begin());  // they differ in whose they are
    CHECK(is.payload == should.payload);
    const std::vector<float> y = round_trip(**codec, x);
    CHECK(y[0] == 6);  // 3, 4, 12, 12, 48, 24, 3, 2, 7, 5, 15, 7, 6
    CHECK(y[1] == sorted[n / 4]);
    const float gap = (sorted.back() - sorted.front()) / (std::exp2(static_cast<float>(bits)) - 1);
    std::vector<int> thrown(7);
    for (Elements i = 2; i < n; ++i) {
      if (i % 2 == 1) {
        CHECK(std::fabs(y[i] - x[i]) <= gap * 1.001f);
      } else {
        REQUIRE((y[i] >= 1 && y[i] <= 6));
        ++thrown[static_cast<std::size_t>(y[i])];
      }
    }
    for (std::size_t side = 1; side <= 6; ++side) CHECK(thrown[side] > 40);  // 83 on average
  }
}

TEST_CASE("published: sizes that subtract what the payload says, and no others") {
  const Files files;
  for (const auto& [size, said] : {std::pair<const char*, const char*>{"Q.size - tail", "no refusal"},
                                   {"Q.size - 2 * tail", "`range` of a size that depends on elements"},
                                   {"tail", "`range` of a size that depends on elements"},
                                   {"Q.size / 4", "`gradient` has n elements"}}) {
    INFO(size);
    const std::string decode = changed(kDecode, "Q.size - tail", size);
    CHECK_THAT(published_refusal(files.both(kEncode, decode), {{"bitwidth", 2}}), Catch::Contains(said));
  }
}

TEST_CASE("published: as many elements are sent as a condition holds for, in two files, too") {
  const Files files;
  const std::string text = test_program("published_dgc");
  const std::size_t second = text.find("void DGCDecode");
  REQUIRE(second != text.npos);
  const std::string path =
      files.write("DGCEncode.pse", text.substr(0, second)) + "+" + files.write("DGCDecode.pse", text.substr(second));
  const Elements n = 30011;
  const std::vector<float> x = gaussian(n, 1);
  std::vector<float> sorted = x;
  for (float& each : sorted) each = std::fabs(each);
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  for (const float ratio : {0.001f, 0.1f}) {
    const Result<std::unique_ptr<Codec>> codec = make_codec(path, {{{"ratio", ratio}}});
    REQUIRE(codec.status().text() == "OK");
    const Coded coded = encode(**codec, x);
    const auto rank = static_cast<std::size_t>(static_cast<float>(n) * ratio);
    CHECK(coded.payload.size() < 200 + 6 * rank);
    std::vector<float> wanted = x;
    for (float& each : wanted) each = std::fabs(each) >= sorted[rank] ? each : 0;
    CHECK(decode(**codec, coded, n) == wanted);
  }
}

TEST_CASE("blocks: any size that a declaration allows works, whatever form the program is compiled in") {
  const Files files;
  const std::string path =
      files.write("mine.cll", changed(source_of("int8"), "in 16..65536 step 16", "in 16..4096 step 8"));
  for (const double block : {16.0, 24.0, 48.0, 4096.0}) {
    INFO(block);
    const Result<std::unique_ptr<Codec>> codec = make_codec(path, {{{"block", block}}});
    REQUIRE(codec.status().text() == "OK");
    CHECK((*codec)->info().block == static_cast<Elements>(block));
    const Elements n = 9001;
    const std::vector<float> x = gaussian(n, 1);
    const std::vector<float> y = round_trip(**codec, x);
    for (Elements i = 0; i < n; ++i) REQUIRE(std::fabs(y[i] - x[i]) < 0.03f);
  }
  CHECK(
      published_refusal(path, {{"block", 20}}) ==
      "InvalidArgument: codec `int8`: parameter `block` is 20, expected a whole number from 16 to 4096 in steps of 8");
  CHECK_THAT(published_refusal(path, {{"block", 1234567}}), Catch::Contains("parameter `block` is 1234567, expected"));
  const Result<std::unique_ptr<Codec>> built_in = make_codec("int8", {{{"block", 48}}});
  REQUIRE(built_in.status().text() == "OK");
  CHECK((*built_in)->info().block == 48);
}

TEST_CASE("steps: least, least + step and so on, also of reals") {
  const Files files;
  const std::string text = changed(source_of("topk"), "in 0.000001..1", "in 0.01..1 step 0.03");
  const std::string path = files.write("mine.cll", text);
  CHECK(published_refusal(path, {{"ratio", 0.1}}) == "no refusal");
  CHECK(published_refusal(path, {{"ratio", 0.97}}) == "no refusal");
  CHECK_THAT(published_refusal(path, {{"ratio", 0.5}}),
             Catch::Contains("expected a number from 0.01 to 1 in steps of 0.03"));
}

}  // namespace casync::compll
