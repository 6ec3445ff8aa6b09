// SPDX-License-Identifier: Apache-2.0
//
// Every codec through real sessions over every strategy, compared with a computation that shares no code with them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "compll/codec/codec.h"
#include "tests/runtime/session/codec_choices.h"
#include "tests/runtime/session/exchange_model.h"
#include "tests/runtime/session/lacks_ucx.h"
#include "tests/runtime/session/told.h"
#include "tests/runtime/session/ways.h"

using namespace casync;        // NOLINT(google-build-using-namespace)
using namespace casync::test;  // NOLINT(google-build-using-namespace)

namespace {

constexpr std::size_t kPartitions = 3;
constexpr std::size_t kElements = kPartitions * 4160;  // equal partitions whose last blocks are short
const char* const kThreePartitions = "partitions: 3";

/// [rank][step] results of sessions whose ranks contribute contribution(rank, kElements, salt(step)).
using Results = std::vector<std::vector<std::vector<float>>>;

template <class Salt>
std::string results_of(int ranks, const Way& way, const std::string& codec, std::uint32_t steps, Salt salt,
                       Results& results, const std::string& transport = "loopback") {
  results.assign(static_cast<std::size_t>(ranks), {});
  return with_way(
      ranks, way, codec, kThreePartitions, ReduceOp::kAverage,
      [&](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare(session, "weight", kElements);
        if (!id) return id.status().text();
        for (std::uint32_t number = 0; number < steps; ++number) {
          std::vector<float> values = contribution(context.rank, kElements, salt(number));
          if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
          results[static_cast<std::size_t>(context.rank)].push_back(std::move(values));
        }
        return "";
      },
      transport);
}

bool all_alike(const Results& results) {
  return std::adjacent_find(results.begin(), results.end(), std::not_equal_to<>()) == results.end();
}

/// Elements that are not what the model says, but for rounding.
std::size_t differing(const std::vector<float>& values, const Vector& wanted) {
  double top = 0;
  for (const double each : wanted) top = std::max(top, std::fabs(each));
  std::size_t count = 0;
  for (std::size_t i = 0; i < values.size(); ++i) count += !(std::fabs(values[i] - wanted[i]) <= 2e-5 * top);
  return count;
}

/// "" where sessions give what the model gives. A sum on the edge between two codes may go either way, because floats
/// round and doubles nearly do not: an element in a thousand, by one step of the code.
std::string compared_with_model(int ranks, const Way& way, const ToldCodec& codec, std::uint32_t steps,
                                const std::string& transport = "loopback") {
  Results results;
  const auto salt = [](std::uint32_t step) { return 40 + step; };
  const std::string complaints = results_of(ranks, way, codec.choice, steps, salt, results, transport);
  if (!complaints.empty()) return complaints;
  if (!all_alike(results)) return "replicas differ";
  ExchangeModel model(codec, way.strategy, way.nodes, ranks, kElements, kPartitions);
  for (std::uint32_t number = 0; number < steps; ++number) {
    std::vector<Vector> gradients;
    for (int rank = 0; rank < ranks; ++rank) {
      const std::vector<float> one = contribution(rank, kElements, salt(number));
      gradients.emplace_back(one.begin(), one.end());
    }
    const std::size_t wrong = differing(results[0][number], model.step(gradients));
    const std::size_t edges = codec.step > 0 ? kElements / 1000 : 0;
    if (wrong > edges) return "step " + std::to_string(number) + ": " + std::to_string(wrong) + " elements differ";
  }
  return "";
}

const ToldCodec& told_codec(const std::string& name) {
  static const std::vector<ToldCodec> all = told_codecs();
  return *std::find_if(all.begin(), all.end(), [&](const ToldCodec& each) {
    return each.choice.find("\"" + name + "\"") != std::string::npos;
  });
}

/// The k largest of what two ranks have, pair by pair up a binomial tree: gTop-k as published (Shi et al. 2019).
Vector published_gtopk(const std::vector<Vector>& parts, const Told& largest) {
  std::vector<Vector> kept;
  for (const Vector& part : parts) kept.push_back(largest(part));
  for (std::size_t distance = 1; distance < kept.size(); distance *= 2) {
    for (std::size_t place = 0; place + distance < kept.size(); place += 2 * distance) {
      for (std::size_t i = 0; i < kept[place].size(); ++i) kept[place][i] += kept[place + distance][i];
      kept[place] = largest(kept[place]);
    }
  }
  for (double& each : kept[0]) each /= static_cast<double>(parts.size());
  return kept[0];
}

/// The program of this name, as plans name it, with a parameter.
std::string published(const std::string& name, const std::string& key, const std::string& value) {
  return "file: \"" CASYNC_PROGRAM_DIR "/published_" + name + ".cll\" param { key: \"" + key + "\" value: " + value +
         " }";
}

/// Deep Gradient Compression: all elements as large as one of them, the same share of all.
Vector sent_by_dgc(Vector x) {
  std::vector<double> sorted;
  for (const double each : x) sorted.push_back(std::fabs(each));
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const double threshold = sorted[static_cast<std::size_t>(static_cast<float>(x.size()) * 0.05f)];
  for (double& each : x) each = std::fabs(each) >= threshold ? each : 0;
  return x;
}

/// Gradient dropping: those above an element of a sample, one in 50.
Vector sent_by_graddrop(Vector x) {
  constexpr std::size_t kEvery = 50;
  std::vector<double> samples;
  for (std::size_t i = 0; i <= x.size() / kEvery; ++i) {
    samples.push_back(i * kEvery < x.size() ? std::fabs(x[i * kEvery]) : 0);
  }
  std::sort(samples.begin(), samples.end());
  const double threshold = samples[static_cast<std::size_t>(static_cast<float>(samples.size()) * (1 - 0.01f))];
  for (double& each : x) each = std::fabs(each) > threshold ? each : 0;
  return x;
}

double squared_distance(const Vector& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

}  // namespace

TEST_CASE("session codecs: sessions give the results of a model of codec and strategy, on every way") {
  for (const int ranks : {2, 3, 4}) {
    for (const Way& way : ways_of(ranks)) {
      for (const ToldCodec& codec : told_codecs()) {
        INFO(codec.choice << ", " << way.strategy << " " << way.nodes << ", ranks " << ranks);
        CHECK(compared_with_model(ranks, way, codec, 3) == "");
      }
    }
  }
}

// Means of 1, 2 or 4 ranks are exact. A third of a sum of codes is often on the edge between two codes.
TEST_CASE("session codecs: sessions with dedicated servers give the model's mean of the other ranks") {
  for (const auto& [ranks, servers] :
       {std::pair(2, 1), std::pair(3, 1), std::pair(3, 2), std::pair(4, 2), std::pair(5, 1)}) {
    const Way way{"ps servers: " + std::to_string(servers) + " dedicated: true", ""};
    for (const ToldCodec& codec : told_codecs()) {
      INFO(codec.choice << ", " << way.strategy << ", ranks " << ranks);
      CHECK(compared_with_model(ranks, way, codec, 3) == "");
    }
  }
}

// Each hop keeps the k largest of what it has, and a residual of the others. A rank adds all of its own elements, and
// not only the k that it would have chosen alone, so less is lost than by gTop-k as published.
TEST_CASE("session codecs: topk over a tree is gTop-k, and loses no more than the published one") {
  const ToldCodec topk = told_codec("topk");
  for (const int ranks : {5, 8}) {
    CAPTURE(ranks);
    CHECK(compared_with_model(ranks, {"tree", ""}, topk, 3) == "");
    Results results;
    REQUIRE(results_of(
                ranks, {"tree", ""}, topk.choice, 1, [](std::uint32_t) { return 40u; }, results) == "");
    const std::vector<float>& values = results[0][0];
    const std::size_t size = kElements / kPartitions, k = size / 20;
    for (std::size_t partition = 0; partition < kPartitions; ++partition) {
      const auto first = values.begin() + static_cast<long>(partition * size);
      const Vector ours(first, first + static_cast<long>(size));
      CHECK(static_cast<std::size_t>(std::count(ours.begin(), ours.end(), 0.0)) >= size - k);
      std::vector<Vector> parts;
      Vector mean(size, 0.0);
      for (int place = 0; place < ranks; ++place) {
        const int rank = (static_cast<int>(partition) + place) % ranks;  // the owner is the root
        const std::vector<float> one = contribution(rank, kElements, 40);
        const auto begin = one.begin() + static_cast<long>(partition * size);
        parts.emplace_back(begin, begin + static_cast<long>(size));
        for (std::size_t i = 0; i < size; ++i) mean[i] += parts.back()[i] / ranks;
      }
      CHECK(squared_distance(ours, mean) <= squared_distance(published_gtopk(parts, topk.told), mean));
    }
  }
}

TEST_CASE("session codecs: gTop-k of 8 ranks sends at most 2 log2(8) k entries of 40 bits from a rank") {
  constexpr int kRanks = 8;
  constexpr std::size_t kLong = 1 << 17, kEntries = 132;  // 0.1 %
  std::uint64_t sent[kRanks] = {};
  const std::string complaints =
      with_way(kRanks, {"tree", ""}, "name: \"topk_coded\" param { key: \"ratio\" value: 0.001 }", "partitions: 1",
               ReduceOp::kAverage, [&](Session& session, RankContext& context) -> std::string {
                 const Result<GradientId> id = declare(session, "layer", kLong);
                 if (!id) return id.status().text();
                 std::vector<float> values = contribution(context.rank, kLong, 1);
                 if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
                 sent[context.rank] = session.stats().payload_bytes_sent;
                 return session.step().status().is_ok() ? "" : "step";
               });
  REQUIRE(complaints == "");
  for (const std::uint64_t bytes : sent) CHECK(bytes <= 2 * 3 * kEntries * 40 / 8);
  CHECK(*std::max_element(sent, sent + kRanks) > kEntries);  // of the root, which sends down to three others
}

// A negative control of the comparison: the model of another strategy, codec, or of no feedback is noticed.
TEST_CASE("session codecs: the comparison with the model notices what is not the same") {
  const ToldCodec int4 = told_codec("int4"), topk = told_codec("topk");
  ToldCodec forgets = int4, other = int4, raw_vote = told_codec("signsgd");
  forgets.feedback = false;
  other.told = told_codec("int8").told;
  raw_vote.votes = false;
  CHECK(compared_with_model(4, {"ring", ""}, forgets, 3) != "");
  CHECK(compared_with_model(4, {"ring", ""}, other, 1) != "");
  CHECK(compared_with_model(4, {"ps", ""}, raw_vote, 1) != "");
  CHECK(compared_with_model(4, {"ps servers: 1", ""}, forgets, 3) != "");
  Results results;
  const auto salt = [](std::uint32_t step) { return 40 + step; };
  REQUIRE(results_of(4, {"ring", ""}, topk.choice, 1, salt, results) == "");
  ExchangeModel ps(topk, "ps", "", 4, kElements, kPartitions);
  std::vector<Vector> gradients;
  for (int rank = 0; rank < 4; ++rank) {
    const std::vector<float> one = contribution(rank, kElements, 40);
    gradients.emplace_back(one.begin(), one.end());
  }
  CHECK(differing(results[0][0], ps.step(gradients)) > kElements / 100);
}

TEST_CASE("session codecs: the mean of many results comes to the mean gradient, with every codec on every way") {
  constexpr int kRanks = 4;
  constexpr std::uint32_t kSteps = 48;
  const std::vector<float> wanted = average(kRanks, kElements, 7);
  int tried = 0;
  for (const std::string& name : compll::codec_names()) {
    const auto codec = compll::make_codec(name);
    if (!codec.is_ok() || name == "signsgd" || name == "onebit" || name == "efsign") continue;  // compared above
    ++tried;
    for (const Way& way : ways_of(kRanks)) {
      if (way.nodes == "abcd" || way.nodes == "aaaa") continue;  // as ps, and as one node
      Results results;
      const auto same = [](std::uint32_t) { return 7u; };
      INFO(name << ", " << way.strategy << " " << way.nodes);
      REQUIRE(results_of(kRanks, way, choice_of(name), kSteps, same, results) == "");
      CHECK(all_alike(results));
      std::vector<float> mean(kElements, 0.0f);
      for (const std::vector<float>& one : results[0]) {
        for (std::size_t i = 0; i < kElements; ++i) mean[i] += one[i] / kSteps;
      }
      const double error = relative_error(mean, wanted);
      UNSCOPED_INFO("relative error " << error);
      CHECK(error < (name == "terngrad" ? 0.5 : 0.25));  // terngrad rounds to the largest magnitude or to zero
    }
  }
  CHECK(tried > 25);
}

TEST_CASE("session codecs: randomk has the exact mean at its places, and the same places over every strategy") {
  for (const int ranks : {2, 3, 4}) {
    const std::vector<float> wanted = average(ranks, kElements, 7);
    std::vector<float> first;
    for (const Way& way : ways_of(ranks)) {
      Results results;
      INFO(way.strategy << " " << way.nodes << ", ranks " << ranks);
      REQUIRE(results_of(
                  ranks, way, choice_of("randomk"), 1, [](std::uint32_t) { return 7u; }, results) == "");
      CHECK(all_alike(results));
      const std::vector<float>& values = results[0][0];
      if (first.empty()) first = values;
      std::size_t chosen = 0, wrong = 0;
      for (std::size_t i = 0; i < kElements; ++i) {
        CHECK_FALSE((values[i] != 0) != (first[i] != 0));
        if (values[i] == 0) continue;
        ++chosen;
        wrong += !(std::fabs(values[i] - wanted[i]) <= 1e-6 * (1 + std::fabs(wanted[i])));
      }
      CHECK(wrong == 0);
      CHECK(chosen > kElements / 6);
      CHECK(chosen < kElements / 4);
    }
  }
}

// Sums of floats may go either way at the threshold.
TEST_CASE("session codecs: programs as they are published, which send as many elements as a condition holds for") {
  const ToldCodec all[] = {{published("dgc", "ratio", "0.05"), sent_by_dgc, false, false, 1},
                           {published("graddrop", "every", "50"), sent_by_graddrop, true, false, 1}};
  for (const int ranks : {2, 3}) {
    for (const Way& way : ways_of(ranks)) {
      for (const ToldCodec& codec : all) {
        INFO(codec.choice << ", " << way.strategy << " " << way.nodes << ", ranks " << ranks);
        CHECK(compared_with_model(ranks, way, codec, 3) == "");
      }
    }
  }
}

TEST_CASE("session codecs: over TCP, too, sessions give what the model gives") {
  for (const int ranks : {2, 3, 4}) {
    for (const char* strategy : {"ps", "ring", "tree", "all_gather"}) {
      for (const char* name : {"int8", "topk", "onebit", "signsgd", "lossless", "threshold_coded", "topk_coded"}) {
        INFO(name << ", " << strategy << ", ranks " << ranks);
        const std::string complaint = compared_with_model(ranks, {strategy, ""}, told_codec(name), 2, "ucx:tcp");
        if (lacks_ucx(complaint)) return;
        CHECK(complaint == "");
      }
    }
  }
}
