// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/held_pieces.h"

#include <vector>

#include <catch2/catch.hpp>

namespace casync::test {
namespace {

using casync::runtime::HeldMemory;
using casync::runtime::HeldPieces;
using casync::runtime::KeptMessage;

struct HeldPiecesFixture {
  HeldMemory memory{2, [](Rank, const Status&) {}};
  std::vector<void*> released;
  HeldPieces held{memory, [this](const KeptMessage& message) { released.push_back(message.data); }};
  int data = 0;
};

}  // namespace

TEST_CASE_METHOD(HeldPiecesFixture,
                 "held pieces: a message is released with the last of its pieces, and counted once") {
  HeldPieces::Piece* const first = held.take();
  HeldPieces::Piece* const second = held.take();
  HeldPieces::Message* const message = held.keep({.data = &data, .from = 1, .bytes = 1000});
  CHECK(memory.held_bytes() == 0);
  held.hold(*first, *message, {}, false);
  held.hold(*second, *message, {}, false);
  CHECK(memory.held_bytes() == 1000);
  held.release(*held.take_out(first).message);
  CHECK(released.empty());
  CHECK(memory.held_bytes() == 1000);
  held.release(*held.take_out(second).message);
  CHECK(released == std::vector<void*>{&data});
  CHECK(memory.held_bytes() == 0);
}

TEST_CASE_METHOD(HeldPiecesFixture, "held pieces: an announced message that UCX has back is not released") {
  HeldPieces::Piece* const piece = held.take();
  HeldPieces::Message* const message = held.keep({.data = &data, .from = 1});
  held.hold(*piece, *message, {}, true);
  const HeldPieces::Piece taken = held.take_out(piece);
  CHECK(taken.announced);
  CHECK(taken.message->data == &data);
  held.forget(*taken.message);
  CHECK(released.empty());
}

TEST_CASE_METHOD(HeldPiecesFixture, "held pieces: a message that is used again begins without pieces") {
  for (int i = 0; i < 3; ++i) {
    HeldPieces::Piece* const piece = held.take();
    held.hold(*piece, *held.keep({.data = &data, .from = 1, .bytes = 10}), {}, false);
    CHECK(memory.held_bytes() == 10);
    held.release(*held.take_out(piece).message);
  }
  CHECK(released.size() == 3);
  CHECK(memory.held_bytes() == 0);
}

}  // namespace casync::test
