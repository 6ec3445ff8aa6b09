// SPDX-License-Identifier: Apache-2.0
//
// A failure that one rank sees ends the job on all of them, in the same words.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <spdlog/sinks/ostream_sink.h>

#include "base/log.h"
#include "runtime/session/session.h"
#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/wrapped_transport.h"
#include "tests/support/logged.h"
#include "tests/support/ranks.h"
#include "tests/support/temporary_directory.h"

using namespace casync;        // NOLINT(google-build-using-namespace)
using namespace casync::test;  // NOLINT(google-build-using-namespace)

namespace {

using OpenSession = Result<std::unique_ptr<Session>>;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// Three ranks reduce until it fails; the words of each. `configure` may tamper with a rank's transport.
std::vector<std::string> words_of(const std::function<void(RankContext&)>& configure) {
  std::vector<std::string> words(3);
  const std::string complaints = run_ranks(3, [&](RankContext& context) -> std::string {
    context.options.codec = CodecChoice{"int8", {}};
    configure(context);
    OpenSession session = Session::open(context.options);
    if (!session) return session.status().text();
    const Result<GradientId> id = declare(**session, "weight", 1000);
    for (std::uint32_t step = 0; step < 50; ++step) {
      std::vector<float> values = contribution(context.rank, 1000, step);
      std::string& word = words[static_cast<std::size_t>(context.rank)];
      word = reduce(**session, *id, values);
      if (!word.empty()) return "";
      if (const Result<StepResult> done = (*session)->step(); !done) {
        word = done.status().text();
        return "";
      }
    }
    return "it did not fail";
  });
  REQUIRE(complaints == "");
  return words;
}

}  // namespace

TEST_CASE("session failure: a rank whose transport does not open ends the others' opening, and nobody writes a trace") {
  const TemporaryDirectory traces;
  std::vector<std::string> words(3);
  const std::string complaints = run_ranks(3, [&](RankContext& context) -> std::string {
    context.options.trace_directory = traces.path();
    if (context.rank == 1) {
      context.options.open_transport = [](const TransportOptions&) -> Result<std::unique_ptr<Transport>> {
        return unavailable("no wire");
      };
    }
    words[static_cast<std::size_t>(context.rank)] = Session::open(context.options).status().text();
    return "";
  });
  REQUIRE(complaints == "");
  CHECK_THAT(words[0], Catch::StartsWith("Unavailable: ") && Catch::Contains("no wire"));
  CHECK(words[2] == words[0]);
  CHECK(std::filesystem::is_empty(traces.path()));
}

TEST_CASE("session failure: a damaged payload that one rank sees is DataLoss on all, by rank and gradient") {
  const std::vector<std::string> words = words_of([](RankContext& context) {
    if (context.rank != 1) return;
    context.options.open_transport = [](const TransportOptions& options) {
      return make_loopback(options, {.fault = [](Rank, std::uint64_t number) {
                             return number == 2 ? WireFault::kCorruptPayload : WireFault::kNone;
                           }});
    };
  });
  CHECK_THAT(words[0], Catch::StartsWith("DataLoss: rank 0 (") &&
                           Catch::Contains("): message from rank 1 (gradient weight, step 2"));
  CHECK(words[1] == words[0]);
  CHECK(words[2] == words[0]);
}

TEST_CASE("session failure: a payload that its codec did not make is DataLoss on all, by rank and gradient") {
  const std::vector<std::string> words = words_of([](RankContext& context) {
    if (context.rank != 1) return;
    context.options.open_transport = open_wrapped({.on_message = [](Message& message, auto& payload) {
      if (message.key.step == 3) payload[0] ^= std::byte{0xff};
    }});
  });
  CHECK_THAT(words[0], Catch::StartsWith("DataLoss: rank 0 (") &&
                           Catch::Contains("): message from rank 1 (gradient weight, step 3"));
  CHECK(words[1] == words[0]);
  CHECK(words[2] == words[0]);
}

TEST_CASE("session failure: a message that is refused is DataLoss on all, and names its sender once") {
  const std::vector<std::string> words = words_of([](RankContext& context) {
    if (context.rank != 1) return;
    context.options.open_transport = open_wrapped({.on_message = [](Message& message, auto&) { ++message.elements; }});
  });
  CHECK_THAT(words[0],
             Catch::StartsWith("DataLoss: rank 1 (") && Catch::EndsWith("is refused: 1001 elements, expected 1000"));
  CHECK(count_of(words[0], "rank 1") == 1);
  CHECK(words[1] == words[0]);
  CHECK(words[2] == words[0]);
}

TEST_CASE("session failure: an endpoint that broke while idle is told to all by the next submission") {
  std::atomic<bool> broken = false;
  std::vector<std::string> words(3);
  std::atomic<int> idle = 0;
  const std::string complaints = run_ranks(3, [&](RankContext& context) -> std::string {
    bool told = false;
    if (context.rank == 0) {
      context.options.open_transport = open_wrapped({.in_progress = [&, told](TransportClient& client) mutable {
        if (idle < 3 || std::exchange(told, true)) return;
        client.failed(1, peer_failure("its endpoint is closed"));
        broken = true;
      }});
    }
    OpenSession session = Session::open(context.options);
    if (!session) return session.status().text();
    const Result<GradientId> id = declare(**session, "weight", 1000);
    std::vector<float> values(1000);
    if (std::string bad = reduce(**session, *id, values); !bad.empty()) return bad;
    if (!(*session)->step()) return "step";
    ++idle;
    while (!broken) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    words[static_cast<std::size_t>(context.rank)] = reduce(**session, *id, values);
    return "";
  });
  REQUIRE(complaints == "");
  CHECK_THAT(words[0], Catch::StartsWith("PeerFailure: rank 1 (") && Catch::EndsWith("): its endpoint is closed"));
  CHECK(words[1] == words[0]);
  CHECK(words[2] == words[0]);
}

TEST_CASE("session failure: an exception on the progress thread is Internal on all ranks") {
  const std::vector<std::string> words = words_of([](RankContext& context) {
    if (context.rank != 2) return;
    context.options.open_transport = open_wrapped({.in_progress = [rounds = 0](TransportClient&) mutable {
      if (++rounds == 30) throw std::runtime_error("out of luck");
    }});
  });
  CHECK_THAT(words[0], Catch::StartsWith("Internal: ") && Catch::EndsWith("out of luck"));
  CHECK(words[1] == words[0]);
  CHECK(words[2] == words[0]);
}

TEST_CASE("session failure: one of several causes wins, on all ranks") {
  std::vector<std::string> words(3);
  std::atomic<int> reduced = 0;
  const std::string complaints = run_ranks(3, [&](RankContext& context) -> std::string {
    OpenSession session = Session::open(context.options);
    if (!session) return session.status().text();
    const Result<GradientId> id = declare(**session, "weight", 1000);
    std::vector<float> values(1000);
    if (std::string bad = reduce(**session, *id, values); !bad.empty()) return bad;
    for (++reduced; reduced < 3;) std::this_thread::yield();
    (*session)->abort("reason " + std::to_string(context.rank));
    words[static_cast<std::size_t>(context.rank)] = (*session)->step().status().text();
    return "";
  });
  REQUIRE(complaints == "");
  CHECK_THAT(words[0], Catch::Contains("aborted the job: reason "));
  CHECK(words[1] == words[0]);
  CHECK(words[2] == words[0]);
}

TEST_CASE("session failure: abort reaches every rank with its reason, and only a state can be taken then") {
  std::atomic<int> stepped = 0;
  const std::string complaints = run_ranks(3, [&](RankContext& context) -> std::string {
    context.options.codec = CodecChoice{"int8", {}};
    OpenSession session = Session::open(context.options);
    if (!session) return session.status().text();
    const Result<GradientId> id = declare(**session, "weight", 1000);
    std::vector<float> values = contribution(context.rank, 1000, 0);
    if (!id) return id.status().text();
    if (std::string bad = step(**session, *id, values); !bad.empty()) return bad;
    const Result<SessionState> committed = (*session)->state();
    if (!committed || !(*session)->failure().is_ok()) return committed.status().text() + ", or a failure";
    for (++stepped; stepped < 3;) std::this_thread::yield();  // the failure is that of no rank's step 0
    if (context.rank == 2) {
      (*session)->abort("the loss went up");
      return "";
    }
    const auto is_told = [](const std::string& text) {
      return text.find("rank 2 aborted the job: the loss went up") != std::string::npos;
    };
    const std::string text = reduce(**session, *id, values);
    if (!is_told(text) || !is_told((*session)->failure().text())) return "wrong words: " + text;
    const Result<SessionState> kept = (*session)->state();
    if (!kept) return "no state: " + kept.status().text();
    const std::vector<float>& residual = kept->gradients.at("weight").residual;
    if (kept->step != 1 || residual != committed->gradients.at("weight").residual) return "not the last step's state";
    if (!is_told(declare(**session, "late", 10).status().text())) return "a gradient can be declared";
    return is_told((*session)->load_state({}).text()) ? "" : "a state can be loaded";
  });
  CHECK(complaints == "");
}

TEST_CASE("session failure: leaving without the others ends their step, and names who left once") {
  std::atomic<int> ended = 0;
  const std::string complaints = run_ranks(3, [&](RankContext& context) -> std::string {
    OpenSession session = Session::open(context.options);
    if (!session) return session.status().text();
    const Result<GradientId> id = declare(**session, "weight", 1000);
    std::vector<float> values(1000);
    if (std::string bad = reduce(**session, *id, values); !bad.empty()) return bad;
    if (!(*session)->step()) return "step";
    for (++ended; ended < 3;) std::this_thread::yield();  // a failure ends the step that any rank is in
    if (context.rank == 1) return "";                     // the session goes out of scope
    const std::string text = reduce(**session, *id, values);
    return text.find("PeerFailure: rank 1 (") == 0 && count_of(text, "rank 1") == 1 ? "" : "wrong words: " + text;
  });
  CHECK(complaints == "");
}

TEST_CASE("session failure: a rank that never submits is a Timeout that names it, and ends the job for all") {
  for (const double slice : {-1.0, 0.05}) {
    std::vector<std::string> words(2);
    const std::string complaints = run_ranks(2, [&](RankContext& context) -> std::string {
      context.options.timeout_s = 2;  // the first step has to get through on a busy machine
      OpenSession session = Session::open(context.options);
      if (!session) return session.status().text();
      const Result<GradientId> id = declare(**session, "weight", 1000);
      std::vector<float> values(1000);
      if (std::string bad = reduce(**session, *id, values); !bad.empty()) return bad;
      if (!(*session)->step()) return "step";
      if (context.rank == 1) {
        std::this_thread::sleep_for(std::chrono::seconds(5));
        words[1] = (*session)->step().status().text();
        return "";
      }
      const Submission one{*id, view_of(values)};
      const Result<std::vector<Handle>> handles = (*session)->submit({&one, 1});
      if (!handles) return handles.status().text();
      int waits = 0;
      for (bool over = false; !over && waits < 100; ++waits) {
        const auto begin = Clock::now();
        words[0] = (*session)->wait((*handles)[0], slice).text();
        over = slice < 0 || Clock::now() - begin < Seconds(slice / 2);  // a failure is told at once
      }
      return slice < 0 || (waits > 5 && waits < 100) ? "" : "over after " + std::to_string(waits) + " slices";
    });
    INFO("slices of " << slice);
    CHECK(complaints == "");
    CHECK_THAT(words[0],
               Catch::Contains("): gradient weight, step 1: not done ") && Catch::Contains("nothing came from rank 1"));
    CHECK(words[1] == words[0]);
  }
}

TEST_CASE("session failure: a stall is logged with rank, gradient, partition and what is missing, again and again") {
  std::ostringstream words;
  log().sinks().push_back(std::make_shared<spdlog::sinks::ostream_sink_mt>(words));
  const std::string complaints = run_ranks(2, [](RankContext& context) -> std::string {
    context.options.timeout_s = 4;  // a stall is a tenth of it
    Result<std::unique_ptr<Session>> session = Session::open(context.options);
    if (!session) return session.status().text();
    const Result<GradientId> id = declare(**session, "weight", 1000);
    std::vector<float> values(1000);
    if (std::string bad = step(**session, *id, values); !bad.empty()) return bad;
    if (context.rank == 1) std::this_thread::sleep_for(Seconds(2.5));
    return step(**session, *id, values);
  });
  log().sinks().pop_back();
  CHECK(complaints == "");
  const std::string text = words.str();
  CHECK_THAT(text, Catch::Contains("rank 0: nothing has moved for ") && Catch::Contains("gradient weight, step 1: ") &&
                       Catch::Contains("nothing came from rank 1 for partition 0"));
  CHECK(count_of(text, "rank 0: nothing has moved for ") >= 2);
}

// No message of a step says who is late: the others compare steps first, and later hold gradients until all ranks have
// declared them.
TEST_CASE("session failure: a rank that stands still ahead of a step is named in the others' logs") {
  const Logged logged;
  const auto late = [&](const std::string& what) -> std::string {
    for (const char* other : {"0", "2"}) {
      const std::string said = std::string("rank ") + other + ": \"" + what + "\": rank 1 has not come yet";
      if (!logged.wait_for(said, std::chrono::seconds(10))) return "rank " + std::string(other) + " does not name it";
    }
    return "";
  };
  const std::string complaints = run_ranks(3, [&](RankContext& context) -> std::string {
    context.options.timeout_s = 15;  // a stall is a tenth of it
    Result<std::unique_ptr<Session>> session = Session::open(context.options);
    if (!session) return session.status().text();
    std::vector<float> values(1000);
    for (const std::string name : {"weight", "bias"}) {
      if (context.rank == 1) {
        const std::string bad = late(name == "weight" ? "comparison 1 of steps" : "gradient bias");
        if (!bad.empty()) return bad;
      }
      const Result<GradientId> id = declare(**session, name, 1000);
      if (std::string bad = step(**session, *id, values); !bad.empty()) return bad;
    }
    return "";
  });
  CHECK(complaints == "");
  CHECK_THAT(logged.text(), Catch::Contains("1 gradient waits until every rank has declared it"));
}
