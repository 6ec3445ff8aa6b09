// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/units.h"
#include "base/view.h"
#include "runtime/executor/arena.h"
#include "runtime/executor/bundle.h"
#include "runtime/executor/failures.h"
#include "runtime/executor/messages.h"
#include "runtime/executor/run_table.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// Bundles from ranks that made them of other gradients than this one, or in a step in which their members began one by
/// one here. They are taken apart: members take their parts, as if these had come alone, as they begin. The progress
/// thread's.
class WaitingBundles {
  struct Waiting {
    Rank from = 0;
    Message message;
    std::vector<std::byte> bytes;
    View view;  ///< those, or memory of the arena
    bool in_arena = false;
    std::vector<BundleEntry> entries;  ///< once arrived
    std::vector<bool> done;            ///< by entry
    std::size_t left = 0;
    bool arrived = false;
  };

 public:
  /// Most memory for the bundles of one peer: what a transport gives to messages without a place.
  static constexpr Bytes kMostBytes = 512_MiB;

  /// Borrows all of these.
  WaitingBundles(Arena& arena, const RunTable& runs, Messages& messages, Failures& failures, Bytes most = kMostBytes)
      : arena_(arena), runs_(runs), messages_(messages), failures_(failures), most_(most) {}

  /// Makes room for a bundle that is on its way. Refuses one of a peer whose bundles would have more than the most
  /// memory: no correct peer is so far ahead.
  Placement expect(Rank from, const Message& message);
  /// Takes over memory of the arena that a bundle is in, or is arriving in.
  void keep(Rank from, const Message& message, View memory, bool arrived);
  /// Hands out what it can of a bundle that has arrived. Returns false if that is none of these.
  bool received(Rank from, const Message& message);

  bool empty() const { return waiting_.empty(); }
  /// Hands out what it can of those with this key.
  void hand_out_bundle(std::uint64_t key);
  /// Gives `run`, which has begun, its parts.
  void hand_out_to(const GradientRun& run);

  /// Hands over all that messages may still arrive in.
  using Memory = std::vector<std::unique_ptr<Waiting>>;
  Memory release() { return std::move(waiting_); }

 private:
  Waiting& add(Rank from, const Message& message);
  void open(Waiting& waiting);
  void hand_out(Waiting& waiting);
  bool hand_out(Waiting& waiting, std::size_t at);
  bool hand_over(const Waiting& waiting, const Message& message, ConstView payload);
  /// Memory that a bundle takes here.
  static Bytes size_of(const Message& message) { return sizeof(Waiting) + message.payload_bytes; }
  Bytes& bytes_of(Rank from);
  template <class Test>
  void hand_out_if(Test test);

  Arena& arena_;
  const RunTable& runs_;
  Messages& messages_;
  Failures& failures_;
  const Bytes most_;
  std::vector<Bytes> bytes_;  ///< by peer, up to the last that has sent any: memory for its bundles
  std::vector<std::unique_ptr<Waiting>> waiting_;
  std::vector<std::unique_ptr<Waiting>> spare_;
};

}  // namespace casync::runtime
