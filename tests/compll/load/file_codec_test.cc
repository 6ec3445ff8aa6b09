// SPDX-License-Identifier: Apache-2.0
//
// Codecs from files, compiled by this machine's compiler.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/codec_file.h"
#include "compll/codec/payload.h"
#include "compll/codec/registry.h"
#include "compll/codec/rounds_codec.h"
#include "compll/load/compiled_text.h"
#include "compll/load/file_program.h"
#include "compll/load/headers.h"
#include "compll/load/system_compiler.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/programs.h"
#include "tests/compll/support/round_ranks.h"
#include "tests/compll/support/run_codec.h"
#include "tests/environment/scoped_variable.h"
#include "tests/support/temporary_directory.h"

namespace casync::compll {
namespace {

/// A folder for codecs.
class FileCodecs {
 public:
  std::string write(const std::string& file, const std::string& text) const {
    std::string path = folder_.path() + "/" + file;
    std::ofstream(path) << text;
    return path;
  }
  const std::string& path() const { return folder_.path(); }

 private:
  test::TemporaryDirectory folder_;
};

/// The same program under another name and without a number of its own.
std::string renamed(const std::string& name, const std::string& to) {
  std::string text = changed(source_of(name), "codec " + name, "codec " + to);
  const std::size_t number = text.find("  number ");
  return text.erase(number, text.find('\n', number) + 1 - number);
}

std::string refusal(const std::string& path, const Parameters& parameters = {}) {
  const Result<std::unique_ptr<Codec>> codec = make_codec(path, parameters);
  return codec.is_ok() ? "no refusal" : codec.status().text();
}

}  // namespace

TEST_CASE("file codec: a name with a slash or of a .cll file is a path") {
  CHECK(is_codec_file("mine.cll"));
  CHECK(is_codec_file("./mine"));
  CHECK(is_codec_file("/a/b.cll"));
  for (const std::string& name : codec_names()) CHECK_FALSE(is_codec_file(name));
}

TEST_CASE("file codec: words of C++ and of generated text are names like others") {
  const FileCodecs files;
  const std::string decode =
      "void decode(uint8* compressed, float* template) {\n  float reduced;\n  int8* n;\n  float* new, class;\n"
      "  extract(compressed, reduced, n, new, class);\n"
      "  template = map(n, new, class, [&](int8 i, float rest, float tile) -> float {\n"
      "    return i + reduced * rest - tile; });\n}\n";
  const std::string by_elements =
      "void encode(float* size, uint8* compressed) {\n  float reduced = reduce(size, magnitude);\n"
      "  int8* n = map(size, [&](float random) -> int8 { return random * 9 / reduced + random<float>(0, 1); });\n"
      "  float* new = map(size, [&](float parameter) -> float { return parameter * 0.5; });\n"
      "  float* class = map(new, [&](float state) -> float { float v = state; return v * v; });\n"
      "  compressed = concat(reduced, n, new, class);\n}\n";
  const std::string by_vectors =
      "void encode(float* size, uint8* compressed) {\n  uint* parameter = largest(size, size.size / 3, absolute);\n"
      "  float* random = gather(size, parameter);\n  float reduced = reduce(random, magnitude);\n"
      "  float* tile = scatter(parameter, random, size);\n"
      "  int8* n = map(tile, [&](float at) -> int8 { return at * 9; });\n"
      "  float* new = sort(size);\n"
      "  float* class = map(new, [&](float state) -> float { return state * random<float>(0, 1); });\n"
      "  compressed = concat(reduced, n, new, class);\n}\n";
  for (const std::string& encode_text : {by_elements, by_vectors}) {
    const std::string text = encode_text + decode;
    const Result<std::unique_ptr<Codec>> codec = make_codec(files.write("register.cll", text));
    REQUIRE(codec.status().text() == "OK");
    const std::unique_ptr<Codec> meaning = from_text("register", text).codec;
    const std::vector<float> values = gaussian(300, 3);
    const Coded is = encode(**codec, values), should = encode(*meaning, values);
    CHECK(std::equal(is.payload.begin() + kHeaderBytes, is.payload.end(), should.payload.begin() + kHeaderBytes,
                     should.payload.end()));
  }
}

TEST_CASE("file codec: a compiled one has the interpreter's bytes, on the sizes and inputs of all codecs") {
  const FileCodecs files;
  const std::string text = renamed("int4", "mine");
  const Result<std::unique_ptr<Codec>> codec = make_codec(files.write("mine.cll", text), {{{"block", 64}}});
  REQUIRE(codec.status().text() == "OK");
  const std::unique_ptr<Codec> meaning = from_text("mine", text, {{"block", 64}}).codec;
  CHECK((*codec)->info().name == "mine");
  CHECK((*codec)->info().block == 64);
  CHECK((*codec)->info().number >= kFirstFileNumber);
  for (const Elements n : {0, 1, 15, 64, 65, 1000, 20011}) {
    for (const Input& input : inputs(n)) {
      INFO(n << " elements, " << input.name);
      const std::vector<float> before(n, 0.125f);
      Coded is = encode(**codec, input.values, before), should = encode(*meaning, input.values, before);
      CHECK(is.finite == should.finite);
      // They differ in what says whose they are.
      std::copy_n(should.payload.begin(), kHeaderBytes - sizeof n, is.payload.begin());
      if (n != 0) CHECK(is.payload == should.payload);
      CHECK((!input.finite || same_bytes(is.residual, should.residual)));
    }
  }
}

TEST_CASE("file codec: one that exchanges in rounds is compiled like the others, and gives the interpreter's bytes") {
  const FileCodecs files;
  const std::string text = renamed("powersgd", "mine"), path = files.write("mine.cll", text);
  CHECK(has_rounds(path));
  CHECK_FALSE(has_rounds(files.write("other.cll", renamed("int8", "other"))));
  CHECK_FALSE(has_rounds(path + ".missing.cll"));
  CHECK(refusal(path).find("exchanges in rounds within a step") != std::string::npos);
  const auto codec = make_rounds_codec(path, {{{"rank", 3}}});
  REQUIRE(codec.status().text() == "OK");
  CHECK((*codec)->info().name == "mine");
  CHECK((*codec)->info().rounds == 2);
  CHECK((*codec)->info().digest != 0);
  const auto meaning = rounds_from_text("mine", text, {{"rank", 3}});
  RoundRanks is(**codec, 2, 20, 33), should(*meaning, 2, 20, 33);
  for (std::uint32_t step = 0; step < 3; ++step) {
    const std::vector<std::vector<float>> gradients = {gaussian(660, step), laplace(660, step)};
    CHECK(same_bytes(is.mean(gradients, step), should.mean(gradients, step)));
    CHECK(same_bytes(is.states(1), should.states(1)));
  }
  CHECK(make_rounds_codec(path, {{{"rank", 65}}}).status().message() ==
        "codec `mine`: parameter `rank` is 65, expected a whole number from 1 to 64");
  CHECK(make_rounds_codec(files.path() + "/other.cll")
            .status()
            .message()
            .ends_with("other.cll: this codec does not exchange in rounds"));
  CHECK(make_rounds_codec(files.write("bad.cll", "codec bad {")).status().code() == StatusCode::kCompileError);
}

TEST_CASE("file codec: one that exchanges and cannot be compiled is interpreted") {
  const FileCodecs files;
  const auto codec = make_rounds_codec(
      files.write("sorted.cll", "void synchronize(float* g, float* result) { result = sort(exchange(g)); }"));
  REQUIRE(codec.status().text() == "OK");
  RoundRanks ranks(**codec, 2, 1, 3);
  CHECK(ranks.mean({{3, 1, 2}, {3, 1, 2}}, 0) == std::vector<float>{1, 2, 3});
}

TEST_CASE("file codec: its text matters to its payloads, its place does not") {
  const FileCodecs files;
  const std::string text = renamed("int8", "mine");
  const auto one = make_codec(files.write("a.cll", text)), same = make_codec(files.write("b.cll", text)),
             other = make_codec(files.write("c.cll", text + "// and a remark\n"));
  REQUIRE((one.is_ok() && same.is_ok() && other.is_ok()));
  CHECK((*one)->info().digest == (*same)->info().digest);
  CHECK((*one)->info().digest != (*other)->info().digest);
  const Coded coded = encode(**one, gaussian(100, 1));
  CHECK((*same)->check(coded.view(), 100).text() == "OK");
  const Status mixed = (*other)->check(coded.view(), 100);
  CHECK(mixed.code() == StatusCode::kDataLoss);
  CHECK_THAT(mixed.message(), Catch::Contains("codec's number") || Catch::Contains("fingerprint of the program"));
}

TEST_CASE("file codec: a payload of the built-in codec of the same name and number is not one of the file's") {
  const FileCodecs files;
  const auto file = make_codec(files.write("int8.cll", source_of("int8")));
  REQUIRE(file.status().text() == "OK");
  const auto built_in = make_codec("int8");
  const Coded coded = encode(**built_in, gaussian(100, 1));
  CHECK_THAT((*file)->check(coded.view(), 100).message(), Catch::Contains("fingerprint of the program"));
  CHECK_THAT((*built_in)->check(encode(**file, gaussian(100, 1)).view(), 100).message(),
             Catch::Contains("fingerprint of the program"));
}

TEST_CASE("file codec: a program that says nothing of itself is called as its file, and numbers are those of files") {
  const std::string whole = source_of("tbq"), text = whole.substr(whole.find("param"));
  const Result<FileProgram> read = read_program(Source("folder/a-b.c.cll", text), {});
  REQUIRE(read.status().text() == "OK");
  CHECK(read->program->declares.name == "a_b_c");
  CHECK(read->codec.function == "generated_a_b_c");
  CHECK(read->program->declares.number >= kFirstFileNumber);
}

TEST_CASE("file codec: the number of a built-in codec is refused under another name") {
  const std::string text = changed(source_of("int4"), "codec int4", "codec mine");
  const Result<FileProgram> read = read_program(Source("mine.cll", text), {});
  REQUIRE_FALSE(read.is_ok());
  CHECK(read.status().code() == StatusCode::kCompileError);
  CHECK_THAT(read.status().message(), Catch::Contains("codec `mine` has number 5, which is that of the built-in codec "
                                                      "`int4`"));
  CHECK(read_program(Source("mine.cll", changed(text, "number 5", "number 199")), {}).is_ok());
}

TEST_CASE("file codec: two files are called by the beginning that their names share, or else a codec") {
  const std::string whole = source_of("tbq"), text = whole.substr(whole.find("param"));
  const std::size_t middle = text.find("void decode");
  const std::string encode_text = text.substr(0, middle), decode_text = text.substr(middle);
  for (const auto& [first, second, name] : {std::array{"a/mineEncode.pse", "b/mineDecode.pse", "mine"},
                                            std::array{"a/encode.pse", "a/decode.pse", "codec"}}) {
    const Result<FileProgram> read =
        read_program(Source(std::vector<SourceFile>{{first, encode_text}, {second, decode_text}}), {});
    REQUIRE(read.status().text() == "OK");
    CHECK(read->program->declares.name == name);
  }
}

TEST_CASE("file codec: parameters that types are made of are compiled in, each value by itself") {
  const FileCodecs files;
  const std::string path = files.write("mine.cll", renamed("qsgd", "mine"));
  const auto four = make_codec(path), two = make_codec(path, {{{"bits", 2}, {"block", 64}}});
  REQUIRE(four.status().text() == "OK");
  REQUIRE(two.status().text() == "OK");
  CHECK((*four)->info().bits_per_element == 4 + 32.0 / 128);
  CHECK((*two)->info().bits_per_element == 2 + 32.0 / 64);
  CHECK((*two)->check(encode(**two, gaussian(100, 1)).view(), 100).is_ok());
  CHECK(refusal(path, {{"bits", 3}}) ==
        "InvalidArgument: codec `mine`: parameter `bits` is 3, expected a whole number: 2 or 4 or 8");
  CHECK_THAT(refusal(path, {{"block", 17}}), Catch::Contains("parameter `block` is 17"));
  CHECK_THAT(refusal(path, {{"blok", 64}}), Catch::Contains("no parameter `blok`") && Catch::Contains("`block`?"));
}

TEST_CASE("file codec: an edit is another codec in the same process") {
  const FileCodecs files;
  const std::string text = renamed("tbq", "mine");
  const auto before = make_codec(files.write("mine.cll", text));
  const auto after = make_codec(files.write("mine.cll", changed(text, "0.5", "0.25")));
  REQUIRE((before.is_ok() && after.is_ok()));
  CHECK((*before)->info().digest != (*after)->info().digest);
  CHECK((*before)->info().values != (*after)->info().values);
}

TEST_CASE("file codec: mistakes have their file, line, column and a caret, and are compile errors") {
  const FileCodecs files;
  const std::string path = files.write("mine.cll", changed(source_of("int4"), "spread(scale", "spraed(scale"));
  const std::string text = refusal(path);
  CHECK_THAT(text, Catch::StartsWith("CompileError: " + path + ":14:32: error: there is no function `spraed`"));
  CHECK_THAT(text, Catch::Contains("^~~~~~") && Catch::Contains("`spread`?"));
}

TEST_CASE("file codec: a file that cannot be read is named") {
  const FileCodecs files;
  CHECK(refusal("nowhere.cll") == "InvalidArgument: nowhere.cll: no such file");
  CHECK_THAT(refusal(files.path()), Catch::Contains("not a file"));
  CHECK_THAT(refusal(files.write("empty.cll", "")), Catch::StartsWith("CompileError: "));
  CHECK_THAT(refusal(files.write("large.cll", std::string(2 << 20, ' '))), Catch::Contains("expected at most 1048576"));
}

TEST_CASE("file codec: programs that the back end cannot compile are interpreted") {
  const FileCodecs files;
  const auto codec = make_codec(files.write("mine.cll", renamed("topk", "mine")));
  REQUIRE(codec.status().text() == "OK");
  const Coded coded = encode(**codec, gaussian(1000, 1));
  CHECK((*codec)->check(coded.view(), 1000).text() == "OK");
  CHECK((*codec)->info().digest != 0);
}

TEST_CASE("file codec: without a compiler, headers or a number of seconds the message says what to do") {
  const CodecText text{"int nothing;", "generated_nothing"};
  {
    const ScopedVariable path("PATH", "/nowhere"), compiler("CXX", nullptr);
    const Status status = compiled(text).status();
    CHECK(status.code() == StatusCode::kUnavailable);
    CHECK_THAT(status.message(), Catch::Contains("c++, g++, clang++ in PATH=/nowhere") &&
                                     Catch::Contains("apt-get install g++") && Catch::Contains("CXX"));
  }
  {
    const ScopedVariable compiler("CXX", "no-such-compiler -m64");
    CHECK_THAT(find_compiler().status().message(), Catch::Contains("tried CXX=no-such-compiler -m64"));
  }
  {
    const ScopedVariable headers("CASYNC_INCLUDE_DIR", "/nowhere");
    const Status status = compiled(text).status();
    CHECK(status.code() == StatusCode::kUnavailable);
    CHECK_THAT(status.message(), Catch::Contains("not in /nowhere") && Catch::Contains("CASYNC_INCLUDE_DIR"));
  }
  const ScopedVariable seconds("CASYNC_COMPILE_SEC", "soon");
  CHECK_THAT(compiled(text).status().message(), Catch::Contains("CASYNC_COMPILE_SEC=soon"));
}

TEST_CASE("file codec: a text that the compiler refuses is kept, and its first lines are shown") {
  const test::TemporaryDirectory cache;
  const ScopedVariable own("CASYNC_CACHE_DIR", cache.path().c_str());
  const Status status = compiled({"int broken = ;\n", "generated_broken"}).status();
  CHECK(status.code() == StatusCode::kCompileError);
  const std::size_t at = status.message().find("the text is ");
  REQUIRE(at != std::string::npos);
  CHECK_THAT(status.message(), Catch::Contains("error:") && Catch::Contains("int broken = ;"));
  std::ifstream kept(status.message().substr(at + 12));
  std::string line;
  std::getline(kept, line);
  CHECK(line == "int broken = ;");
}

TEST_CASE("file codec: where the cache's disc or the user's part of it is full it is compiled for this process alone") {
  const FileCodecs files;
  const test::TemporaryDirectory cache, temporary;
  const ScopedVariable own("CASYNC_CACHE_DIR", cache.path().c_str());
  const std::string compiler = files.write("compiler", "#!/bin/sh\nfor word; do case \"$word\" in " + cache.path() +
                                                           "/*.cc) echo \"ld: $REASON\" >&2; exit 1;; "
                                                           "esac; done\nexec g++ \"$@\"\n");
  std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
  const ScopedVariable fake("CXX", compiler.c_str());
  const std::string path = files.write("mine.cll", renamed("int4", "mine"));
  for (const char* reason : {"Disk quota exceeded", "No space left on device"}) {
    const ScopedVariable elsewhere("TMPDIR", cache.path().c_str()), said("REASON", reason);
    CHECK_THAT(refusal(path),
               Catch::StartsWith("Unavailable: ") && Catch::Contains("there is no room for what is compiled"));
  }
  const ScopedVariable elsewhere("TMPDIR", temporary.path().c_str()), said("REASON", "Disk quota exceeded");
  const auto codec = make_codec(path);
  REQUIRE(codec.status().text() == "OK");
  CHECK((*codec)->check(encode(**codec, gaussian(1000, 1)).view(), 1000).text() == "OK");
  CHECK(std::filesystem::is_empty(temporary.path()));
}

TEST_CASE("file codec: an entry that is whole and cannot be loaded is not compiled anew in the cache") {
  const FileCodecs files;
  const test::TemporaryDirectory cache;
  const ScopedVariable own("CASYNC_CACHE_DIR", cache.path().c_str());
  const std::string calls = files.path() + "/calls";
  const std::string compiler = files.write("compiler", "#!/bin/sh\necho called >> " + calls + "\nexec g++ \"$@\"\n");
  std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
  const ScopedVariable fake("CXX", compiler.c_str());
  const CodecText text{
      "extern \"C\" void* nowhere();\n"
      "extern \"C\" __attribute__((visibility(\"default\"))) void* generated_lost() "
      "{ return nowhere(); }\n",
      "generated_lost"};
  const auto count_calls = [&] {
    std::ifstream file(calls);
    return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
  };
  for (const int in_all : {2, 3}) {  // in the cache and for this process alone, then for this process alone
    const Status status = compiled(text).status();
    CHECK(status.code() == StatusCode::kUnavailable);
    CHECK_THAT(status.message(), Catch::Contains("undefined symbol: nowhere"));
    CHECK(count_calls() == in_all);
  }
}

TEST_CASE("file codec: headers of another version are said to be that") {
  const FileCodecs files;
  const std::string text =
      "struct Old { unsigned version; } old = {1};\n"
      "extern \"C\" __attribute__((visibility(\"default\"))) const Old* generated_old() "
      "{ return &old; }\n";
  const Status status = compiled({text, "generated_old"}).status();
  CHECK(status.code() == StatusCode::kCompileError);
  CHECK_THAT(status.message(), Catch::Contains("another version of casync") && Catch::Contains("CASYNC_INCLUDE_DIR"));
}

TEST_CASE("file codec: CXX may have words behind its name") {
  const ScopedVariable compiler("CXX", "g++ -m64");
  const Result<SystemCompiler> found = find_compiler();
  REQUIRE(found.is_ok());
  REQUIRE(found->command.size() == 2);
  CHECK_THAT(found->command[0], Catch::EndsWith("/g++"));
  CHECK(found->command[1] == "-m64");
  CHECK(found->identity != find_compiler().value().command[0]);
}

TEST_CASE("file codec: headers have a digest that an edit changes") {
  const Result<Headers> headers = find_headers();
  REQUIRE(headers.status().text() == "OK");
  CHECK(headers->digest == find_headers()->digest);
  const test::TemporaryDirectory copy;
  namespace fs = std::filesystem;
  fs::copy(headers->folder + "/compll", copy.path() + "/compll",
           fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  fs::create_directory(copy.path() + "/base");
  fs::copy(headers->folder + "/base/units.h", copy.path() + "/base/units.h");
  fs::create_directory_symlink(headers->folder + "/hwy", copy.path() + "/hwy");
  const ScopedVariable folder("CASYNC_INCLUDE_DIR", copy.path().c_str());
  CHECK(find_headers()->digest == headers->digest);
  std::ofstream(copy.path() + "/compll/ops/scaled.h", std::ios::app) << "// edited\n";
  CHECK(find_headers()->digest != headers->digest);
}

}  // namespace casync::compll
