// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/inbox_records.h"

#include <algorithm>

namespace casync::runtime {

std::size_t InboxRecords::KeyHash::operator()(const Key& key) const {
  std::uint64_t hash = static_cast<std::uint64_t>(key.from);
  for (std::uint64_t word : {key.message.gradient, std::uint64_t{key.message.step},
                             std::uint64_t{key.message.partition}, std::uint64_t{key.message.hop}}) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
  }
  return hash;
}

InboxRecords::~InboxRecords() {
  std::pmr::polymorphic_allocator<> memory(memory_);
  for (auto& [key, record] : records_) memory.delete_object(record);
}

InboxRecord& InboxRecords::find_or_make(const FrameHeader& header, bool& is_new) {
  const Key key{header.source, header.message.key};
  const auto found = records_.find(key);
  is_new = found == records_.end();
  if (!is_new) return *found->second;
  std::pmr::polymorphic_allocator<> memory(memory_);
  InboxRecord* record = memory.new_object<InboxRecord>(header, memory_);
  records_.emplace(key, record);
  return *record;
}

void InboxRecords::forget(InboxRecord& record) {
  records_.erase(Key{record.from(), record.message().key});
  std::pmr::polymorphic_allocator<> memory(memory_);
  memory.delete_object(&record);
}

bool InboxRecords::has_placed(Rank from) const {
  return std::any_of(records_.begin(), records_.end(),
                     [from](const auto& entry) { return entry.second->from() == from && entry.second->is_placed(); });
}

void InboxRecords::add_idle(Rank from, std::vector<InboxRecord*>& to) const {
  for (const auto& [key, record] : records_) {
    if (record->from() == from && record->is_idle()) to.push_back(record);
  }
}

void InboxRecords::abandon() {
  for (auto& [key, record] : records_) record->abandon();
}

}  // namespace casync::runtime
