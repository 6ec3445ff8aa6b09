// SPDX-License-Identifier: Apache-2.0
//
// Kernels of programs that exchange within a step, run on this host, give the interpreter's bytes.
#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/compll/cuda/emulated/device.h"
#include "tests/compll/cuda/support/codecs.h"
#include "tests/compll/cuda/support/compare_rounds.h"

namespace casync::compll {
namespace {

using emulated::Order;

const cuda::RoundsKernels& kernels_of(const std::string& name) {
  for (const cuda::RoundsKernels* each : test::kernels_of_rounds()) {
    if (each->name == name) return *each;
  }
  throw std::runtime_error("no kernels of " + name);
}

using Runs = std::vector<std::pair<Order, std::uint32_t>>;

std::string difference(const std::string& name, const Parameters& parameters, const test::Shapes& shapes,
                       const Runs& runs = {{Order::kForward, 1}, {Order::kForward, 2}, {Order::kBackward, 7}}) {
  const auto meaning = test::meaning_of_rounds(name, parameters);
  for (const auto& [order, blocks] : runs) {
    test::EmulatedDevice device(order, blocks);
    const std::string found = test::difference(kernels_of(name), *meaning, device, shapes);
    if (!found.empty()) return found + ", " + std::to_string(blocks) + " blocks of threads";
  }
  return "";
}

/// One row, one column, sides around halves of warps, warps and strips, also none.
const test::Shapes kSmall = {{0, 0},   {0, 3},   {5, 0},   {1, 1},   {1, 2},  {2, 1},   {1, 300}, {300, 1},  {7, 5},
                             {16, 16}, {15, 17}, {17, 15}, {31, 33}, {64, 9}, {33, 32}, {9, 129}, {130, 128}};
const test::Shapes kFew = {{0, 3}, {5, 0}, {1, 1}, {1, 40}, {40, 1}, {3, 2}, {7, 5}, {15, 17}, {33, 31}};

}  // namespace

TEST_CASE("emulated kernels of turns: every codec that exchanges is here") {
  for (const std::string& name : written_round_names()) CHECK(kernels_of(name).turns[0].kernel != nullptr);
}

TEST_CASE("emulated kernels of turns: the bytes are the interpreter's, of every shape") {
  CHECK(difference("powersgd", {}, kSmall) == "");
  for (const double rank : {1, 2, 3}) CHECK(difference("powersgd", {{"rank", rank}}, kFew) == "");
  for (const double clip : {0, 2}) CHECK(difference("terngrad_shared", {{"clip", clip}}, kSmall) == "");
  for (const double block : {4, 16, 128}) CHECK(difference("sketched_topk", {{"block", block}}, kSmall) == "");
  for (const double chunk : {16, 48}) {
    CHECK(difference("topk_chunks", {{"chunk", chunk}, {"ratio", 0.3}}, kSmall) == "");
  }
  CHECK(difference("sketched_topk", {{"rows", 5}, {"ratio", 0.05}}, {{130, 128}, {1, 16385}}) == "");
}

TEST_CASE("emulated kernels of turns: exchanges of all kinds, also of many elements") {
  CHECK(difference("exchanges", {}, kSmall) == "");
  CHECK(difference("exchanges", {{"levels", 40}}, {{130, 128}, {1, 16385}}) == "");
}

TEST_CASE("emulated kernels of turns: matrices of several tiles") {
  // Rows that end in the next tile, rows longer than a tile, columns of more rows than are brought in at once.
  const test::Shapes shapes = {{129, 128}, {1, 16385}, {16500, 1}, {5, 6600}, {6600, 5}, {211, 263}};
  CHECK(difference("powersgd", {}, shapes, {{Order::kForward, 2}, {Order::kBackward, 7}}) == "");
}

TEST_CASE("emulated kernels of turns: arrays of computed sizes are read in the shares that tiles store") {
  CHECK(difference("shares", {}, kFew) == "");
  CHECK(difference("shares", {}, {{6, 3000}, {3000, 6}}) == "");
}

TEST_CASE("emulated kernels of turns: ranks above a side, and as many vectors as are worked on at once") {
  const test::Shapes shapes = {{1, 40}, {40, 1}, {3, 50}, {50, 3}, {18, 20}};
  for (const double rank : {9, 15, 64}) CHECK(difference("powersgd", {{"rank", rank}}, shapes) == "");
}

TEST_CASE("emulated kernels of turns: every operator that a turn may have") {
  for (const char* name : {"rounds", "turns"}) {
    CHECK(difference(name, {}, kFew) == "");
    CHECK(difference(name, {}, {{129, 128}}) == "");
  }
  CHECK(difference("rounds", {{"some", 3}}, {{2, 3}, {9, 150}}) == "");
  for (const double few : {1, 3}) CHECK(difference("turns", {{"few", few}}, {{2, 3}, {3, 2}, {40, 33}}) == "");
}

}  // namespace casync::compll
