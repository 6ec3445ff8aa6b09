// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "casync/simulator/engine/work.h"
#include "casync/simulator/event_queue.h"
#include "casync/simulator/flat_tasks.h"
#include "casync/simulator/urgent_queue.h"

namespace casync::engine {

struct Engine;

/// The copies of each rank between its device and the host, one after the other in each direction. They wait for
/// nothing but each other.
class DeviceCopies {
 public:
  explicit DeviceCopies(Engine& engine);

  void queue_upload(std::uint32_t task);
  void queue_download(std::uint32_t task);
  void start_upload(Rank rank) { start(rank, of(rank).uploads, &FlatTask::upload_s); }
  void start_download(Rank rank) { start(rank, of(rank).downloads, &FlatTask::download_s); }
  bool ends_upload(const Event& event) const { return ranks_[event.subject].uploads.work.ends_with(event); }
  bool ends_download(const Event& event) const { return ranks_[event.subject].downloads.work.ends_with(event); }
  /// Returns the task that was copied.
  std::uint32_t end_upload(Rank rank) { return end(rank, of(rank).uploads, &FlatTask::upload_s); }
  std::uint32_t end_download(Rank rank) { return end(rank, of(rank).downloads, &FlatTask::download_s); }

 private:
  struct Copies {
    Work work;
    std::uint32_t task = kNoTask;
    UrgentQueue ready;
  };
  struct OfRank {
    Copies uploads{Work(Event::Kind::kUpload), kNoTask, {}}, downloads{Work(Event::Kind::kDownload), kNoTask, {}};
  };

  void start(Rank rank, Copies& copies, float FlatTask::*seconds);
  std::uint32_t end(Rank rank, Copies& copies, float FlatTask::*seconds);
  OfRank& of(Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  Engine& engine_;
  std::vector<OfRank> ranks_;
};

}  // namespace casync::engine
