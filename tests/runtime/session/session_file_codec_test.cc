// SPDX-License-Identifier: Apache-2.0
//
// Codecs from files in sessions: ranks have to mean the same by them.
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "runtime/session/agreement.h"
#include "runtime/session/declarations.h"
#include "tests/runtime/session/gradients.h"
#include "tests/support/ranks.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)

namespace {

constexpr std::size_t kElements = 30011;
const Topology kTwo = Topology::flat(2);

/// A folder with the example's codec, once for each of two ranks.
class Codecs {
 public:
  Codecs() {
    std::ifstream file(CASYNC_EXAMPLE_CODEC);
    text_.assign(std::istreambuf_iterator<char>(file), {});
    REQUIRE_FALSE(text_.empty());
  }

  std::string write(const std::string& name, const std::string& text) const {
    std::string path = folder_.path() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  const std::string& text() const { return text_; }
  const std::string& path() const { return folder_.path(); }

 private:
  TemporaryDirectory folder_;
  std::string text_;
};

std::string average_once(Session& session, RankContext& context, double tolerance) {
  const Result<GradientId> id = declare(session, "weight", kElements);
  if (!id) return id.status().text();
  std::vector<float> values = contribution(context.rank, kElements, 5);
  if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
  const double error = relative_error(values, average(context.ranks, kElements, 5));
  if (!(error > 0 && error < tolerance)) return "the average is wrong by " + std::to_string(error);
  const Result<StepResult> step = session.step();
  return step ? std::string() : step.status().text();
}

}  // namespace

TEST_CASE("session: a codec's file may lie elsewhere on each rank") {
  const Codecs codecs;
  const std::string paths[] = {codecs.write("one.cll", codecs.text()), codecs.write("other.cll", codecs.text())};
  const std::string complaints = with_sessions(
      2,
      [&](SessionOptions& options) {
        options.codec = CodecChoice{paths[options.launch.rank.value()], {}};
      },
      [](Session& session, RankContext& context) { return average_once(session, context, 0.6); });
  CHECK(complaints == "");
}

TEST_CASE("session: files that differ are refused at the start, on all ranks alike, with codec and ranks") {
  const Codecs codecs;
  const std::string paths[] = {codecs.write("one.cll", codecs.text()),
                               codecs.write("other.cll", codecs.text() + "// another\n")};
  std::string messages[2];
  const std::string complaints = run_ranks(2, [&](RankContext& context) -> std::string {
    context.options.codec = CodecChoice{paths[context.rank], {{"block", 64}}};
    const Result<std::unique_ptr<Session>> session = Session::open(context.options);
    if (session) return "it was opened";
    messages[context.rank] = session.status().text();
    return "";
  });
  REQUIRE(complaints == "");
  CHECK(messages[0] == messages[1]);
  CHECK_THAT(messages[0], Catch::StartsWith("InvalidArgument: the ranks do not agree: plan: default codec: "
                                            "rank 0 has int3 (program ") &&
                              Catch::Contains(":block=64, rank 1 has int3 (program "));
}

TEST_CASE("session: a plan names files for both hops, as seen from its own folder") {
  const Codecs codecs;
  codecs.write("mine.cll", codecs.text());
  const std::string plan = codecs.write("plan.txtpb",
                                        "version: 1\n"
                                        "default {\n"
                                        "  codec { name: \"int8\" }\n"
                                        "  second_hop { file: \"mine.cll\" param { key: \"block\" value: 64 } }\n"
                                        "}\n");
  const std::string complaints = with_sessions(
      2, [&](SessionOptions& options) { options.plan_file = plan; },
      [](Session& session, RankContext& context) { return average_once(session, context, 0.6); });
  CHECK(complaints == "");
}

TEST_CASE("session: a file that is not there or does not compile is refused, and nobody waits") {
  const Codecs codecs;
  SessionOptions options;
  options.launch.rank = 0;
  options.launch.ranks = 2;
  options.launch.rendezvous = "file:" + codecs.path();
  options.codec = CodecChoice{codecs.path() + "/nowhere.cll", {}};
  CHECK(Session::open(options).status().text() == "InvalidArgument: " + codecs.path() + "/nowhere.cll: no such file");
  options.codec.reset();
  codecs.write("broken.cll", "codec");
  options.plan_file = codecs.write("plan.txtpb", "version: 1 rule { match: \"w\" codec { file: \"broken.cll\" } }");
  const Status status = Session::open(options).status();
  CHECK(status.code() == StatusCode::kCompileError);
  CHECK_THAT(status.message(), Catch::Contains(codecs.path() + "/broken.cll:1:"));
}

TEST_CASE("session: a residual belongs to the file's text, not to its place") {
  const Codecs codecs;
  Decision one, other, changed;
  one.codec = one.second_hop = {codecs.write("one.cll", codecs.text()), {{"block", 64}}};
  other.codec = other.second_hop = {codecs.write("other.cll", codecs.text()), {{"block", 64}}};
  changed.codec = changed.second_hop = {codecs.write("changed.cll", codecs.text() + "\n"), {{"block", 64}}};
  CHECK(state_label(one, kTwo) == state_label(other, kTwo));
  CHECK(state_label(one, kTwo) != state_label(changed, kTwo));
  CHECK_THAT(state_label(one, kTwo), Catch::StartsWith("int3 (program ") && Catch::Contains("):block=64 / int3"));
  CHECK(identity_of({"int4", {{"block", 64}}}) == "int4:block=64");
}
