// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory_resource>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "runtime/transport/frame.h"
#include "runtime/transport/inbox_record.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// The messages that have begun to arrive, by sender and name. `memory` outlives them, and everything in them is there.
class InboxRecords {
 public:
  explicit InboxRecords(std::pmr::memory_resource* memory) : memory_(memory), records_(memory) {}
  ~InboxRecords();
  InboxRecords(const InboxRecords&) = delete;
  InboxRecords& operator=(const InboxRecords&) = delete;

  InboxRecord& find_or_make(const FrameHeader& header, bool& is_new);
  void forget(InboxRecord& record);

  bool empty() const { return records_.empty(); }
  bool has_placed(Rank from) const;  ///< a message of this peer is placed and not complete
  /// Adds those of a peer of which no piece is under way.
  void add_idle(Rank from, std::vector<InboxRecord*>& to) const;
  /// Nothing is written any more: nothing counts as under way.
  void abandon();

 private:
  struct Key {
    Rank from = 0;
    MessageKey message;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };

  std::pmr::memory_resource* memory_;
  std::pmr::unordered_map<Key, InboxRecord*, KeyHash> records_;
};

}  // namespace casync::runtime
