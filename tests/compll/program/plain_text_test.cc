// SPDX-License-Identifier: Apache-2.0
//
// Nothing of a codec's file is code of generated text: characters that are refused, and how all others arrive.
#include <catch2/catch.hpp>
#include <string>

#include "compll/codegen/cpu/cpu.h"
#include "compll/codegen/cuda/codec_text.h"
#include "compll/codegen/text/operation_text.h"
#include "compll/codegen/text/plain_text.h"
#include "compll/lang/front_end.h"
#include "tests/compll/program/said.h"

namespace casync::compll {
namespace {

/// A program with `comment` after a statement, and `summary`.
std::string program_with(const std::string& comment, const std::string& summary) {
  return "codec mine { summary \"" + summary + "\"; source \"" + summary +
         "\"; }\n"
         "param { float p = 1 in 0..2 \"" +
         summary +
         "\"; }\n"
         "void encode(float* g, uint8* c) {\n"
         "  float* y = map(g, [&](float x) -> float { return x + p; });  //" +
         comment +
         "\n"
         "  c = concat(y);\n}\n"
         "void decode(uint8* c, float* g) { float* y; extract(c, y);\n"
         "  g = map(y, [&](float x) -> float { return x - p; });  /*" +
         comment + " */\n}\n";
}

/// One in vector form that has `comment` within the formula of a size.
std::string sized_with(const std::string& comment) {
  return "void encode(float* g, uint8* c) {\n"
         "  uint* p = largest(g, g.size //" +
         comment +
         "\n / 3, absolute);\n"
         "  float* v = gather(g, p);\n  c = concat(p, v);\n}\n"
         "void decode(uint8* c, float* g) { uint* p; float* v; extract(c, p, v); g = scatter(p, v, g.size); }\n";
}

/// Text for CPU and CUDA.
std::string texts_of(const std::string& program_text) {
  const Source source("mine.cll", program_text);
  Result<Program> program = compile(source);
  REQUIRE(program.status().text() == "OK");
  program->declares.name = "mine";
  const Result<std::string> cpu = cpu_text(*program, source, "mine.cc");
  const Result<CudaCodecText> cuda = cuda_codec_text(*program, source);
  REQUIRE(cpu.status().text() == "OK");
  REQUIRE(cuda.status().text() == "OK");
  return *cpu + text_of(*cuda);
}

/// Returns true if no line of text continues on the next one, and none has `word` outside of a comment.
bool is_harmless(const std::string& text, const std::string& word) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at), code = line.substr(0, line.find("//"));
    const std::string trimmed = line.substr(0, line.find_last_not_of(" \t\f\v\r") + 1);
    if (trimmed.ends_with('\\') || trimmed.ends_with("?\?/") || code.find(word) != code.npos) return false;
    at = end + 1;
  }
  return true;
}

}  // namespace

TEST_CASE("plain text: every control character but tabs and line ends is refused, wherever it is") {
  for (int code = 0; code < 0x80; ++code) {
    if ((code >= ' ' && code < 0x7f) || code == '\t' || code == '\n') continue;
    const std::string character(1, static_cast<char>(code));
    char said[40];
    std::snprintf(said, sizeof said, "the control character 0x%02x", static_cast<unsigned>(code));
    INFO(said);
    CHECK(first_said(program_with(" a" + character + "evil();", "s")).find(said) != std::string::npos);
    CHECK(first_said(program_with(" a", "s" + character + "t")).find(said) != std::string::npos);
    CHECK(first_said("float" + character + "f(float x) { return x; }").find(said) != std::string::npos);
    CHECK(first_said("float f" + character + "g(float x) { return x; }").find(said) != std::string::npos);
    CHECK(first_said(sized_with(" a" + character + "b")).find(said) != std::string::npos);
  }
}

TEST_CASE("plain text: tabs and line ends of both kinds are white space") {
  CHECK(first_said(program_with("\ta\t", "s")) == "OK");
  std::string with_returns;
  for (const char c : program_with(" a", "s")) with_returns += c == '\n' ? std::string("\r\n") : std::string(1, c);
  CHECK(first_said(with_returns) == "OK");
  CHECK(is_plain(texts_of(with_returns)));
  CHECK(first_said("float f(float x) { return x; }\r") == "1:31: the control character 0x0d");
  CHECK(first_said("float f(float x) { return x; }\r\r\n") == "1:31: the control character 0x0d");
}

TEST_CASE("plain text: characters of Unicode that end lines or turn text around, and what is no UTF-8, are refused") {
  const char* const refused[] = {"\xc2\x85",     "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xae",
                                 "\xe2\x81\xa6", "\xef\xbb\xbf", "\xc2\x80",     "\xd8\x9c"};
  for (const char* character : refused) {
    INFO(character);
    CHECK(first_said(program_with(std::string(" a") + character, "s")).find("character") != std::string::npos);
    CHECK(first_said(program_with(" a", std::string("s") + character)).find("character") != std::string::npos);
  }
  for (const char* bytes : {"\xff", "\xc3", "\xe2\x80", "\xc0\x8a", "\xed\xa0\x80", "\x8a"}) {
    CHECK(first_said(program_with(std::string(" a") + bytes, "s")).find("a byte that is no text") != std::string::npos);
  }
}

TEST_CASE("plain text: generated text is printable ASCII, and no line of it goes on in the next") {
  for (const char* end :
       {"\\", "\\ ", "\\\t ", "\\\\", "?\?/", "?\?/ ", "*/ evil();", "\xc3\xa9\\", "\"\\", "?\?/\\"}) {
    const std::string comment = std::string(" evil(); ") + end;
    if (comment.find("*/") == comment.npos) {
      const std::string text = texts_of(program_with(comment, "s"));
      CHECK(is_plain(text));
      CHECK(is_harmless(text, "evil"));
    }
    const std::string sized = texts_of(sized_with(comment));
    CHECK(is_plain(sized));
    CHECK(is_harmless(sized, "evil"));
  }
  const std::string text = texts_of(program_with(" a", "\xc3\xa9 %d {} \\ ?\?/ '"));
  CHECK(is_plain(text));
  CHECK(text.find("\"\\303\\251 %d {} \\\\ \\?\\?/ '\"") != text.npos);
}

TEST_CASE("plain text: every byte as a comment and as a literal") {
  for (int code = 0; code < 256; ++code) {
    const std::string byte(1, static_cast<char>(code));
    CHECK(is_plain(comment_text("a" + byte + "b")));
    CHECK(comment_text("a" + byte).find_first_of("\n\r\f\v") == std::string::npos);
    CHECK(is_plain(string_literal("1" + byte + "1")));
  }
  CHECK(string_literal(std::string("\n") + "1") == "\"\\0121\"");
  CHECK(comment_text("x */ y") == "x * / y");
  CHECK(comment_text("x \\ \\") == "x");
}

TEST_CASE("plain text: the name of a codec from its file's name is a name, whatever the file is called") {
  CHECK(codec_name_of_file("a\nint evil = 1;.cll") == "a_int_evil___1_");
  CHECK(codec_name_of_file("/x/y.cll") == "y");
  CHECK(codec_name_of_file("\xc3\xa9.cll") == "__");
  CHECK(codec_name_of_file("") == "codec");
  for (int code = 1; code < 256; ++code) {
    const std::string name = codec_name_of_file("a" + std::string(1, static_cast<char>(code)) + "b.cll");
    CHECK(name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == name.npos);
  }
}

TEST_CASE("plain text: messages show a control character as a question mark") {
  const Source source("x\x1b[2J.cll", "float f(float x) { return \x1b[31m; }");
  const std::string said = compile(source).status().message();
  CHECK(said.find('\x1b') == said.npos);
  CHECK(said.find("x?[2J.cll:1:27") != said.npos);
}

TEST_CASE("plain text: whole numbers are written with digits only") {
  for (double number = 1; number <= 4294967295.0; number *= 10) {
    for (const double each : {number, 2 * number, 5 * number}) {
      if (each > 4294967295.0) continue;
      INFO(each);
      CHECK(literal_text(kUintType, each) == std::to_string(static_cast<std::uint64_t>(each)) + "u");
      if (each <= 2147483647.0) CHECK(literal_text(kIntType, each) == std::to_string(static_cast<std::uint64_t>(each)));
    }
  }
  CHECK(literal_text(kIntType, -2000000000.0) == "-2000000000");
  const std::string text = texts_of(
      "void encode(float* g, uint8* c) {\n  uint* p = largest(g, 100000, absolute);\n"
      "  uint* q = map(p, [&](uint x) -> uint { return x + 4000000000 - 200000; });\n  c = concat(q);\n}\n"
      "void decode(uint8* c, float* g) { uint* q; extract(c, q); g = scatter(q, 1.0, g.size); }\n");
  CHECK(text.find("e+") == text.npos);
  CHECK(text.find("4000000000u") != text.npos);
}

TEST_CASE("plain text: a real beyond the integers of C++ is none of them, in sizes and in ranges of parameters") {
  const auto is_real = [](const std::string& text) {
    const std::string digits = "36893488147419103232";
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find(digits, at)) != text.npos; at += digits.size(), ++count) {
      if (text.compare(at + digits.size(), 2, ".0") != 0) return false;
    }
    return count != 0;
  };
  const std::string decode =
      "void decode(uint8* c, float* g) { uint* p; extract(c, p); g = scatter(p, 1.0, g.size); }\n";
  CHECK(
      is_real(texts_of("void encode(float* g, uint8* c) {\n  double large = 36893488147419103232.0;\n"
                       "  uint* p = largest(g, uint(large / (g.size + 1)), absolute);\n  c = concat(p);\n}\n" +
                       decode)));
  CHECK(
      is_real(texts_of("param { double top = 1 in 0..36893488147419103232.0; }\n"
                       "void encode(float* g, uint8* c) {\n  uint* p = largest(g, uint(top), absolute);\n"
                       "  c = concat(p);\n}\n" +
                       decode)));
}

}  // namespace casync::compll
