// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/engine/device_copies.h"

#include <utility>

#include "casync/simulator/engine/engine.h"

namespace casync::engine {

DeviceCopies::DeviceCopies(Engine& engine) : engine_(engine), ranks_(engine.tasks.ranks()) {}

void DeviceCopies::queue_upload(std::uint32_t task) {
  of(engine_.tasks.rank_of(task)).uploads.ready.push(engine_.progress.urgent(task));
}

void DeviceCopies::queue_download(std::uint32_t task) {
  of(engine_.tasks.rank_of(task)).downloads.ready.push(engine_.progress.urgent(task));
}

void DeviceCopies::start(Rank rank, Copies& copies, float FlatTask::*seconds) {
  if (copies.work.running() || copies.ready.empty()) return;
  copies.task = copies.ready.pop().task;
  copies.work.start(engine_.clock, rank, static_cast<double>(engine_.tasks[copies.task].*seconds), 1);
}

std::uint32_t DeviceCopies::end(Rank rank, Copies& copies, float FlatTask::*seconds) {
  copies.work.stop();
  engine_.record.add(rank, &StepParts::copies_s, static_cast<double>(engine_.tasks[copies.task].*seconds));
  engine_.processors.mark(rank);
  return std::exchange(copies.task, kNoTask);
}

}  // namespace casync::engine
