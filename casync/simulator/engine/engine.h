// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "casync/simulator/engine/device_copies.h"
#include "casync/simulator/engine/drifting_ranks.h"
#include "casync/simulator/engine/message_processors.h"
#include "casync/simulator/engine/network.h"
#include "casync/simulator/engine/processors.h"
#include "casync/simulator/engine/routes.h"
#include "casync/simulator/engine/step_record.h"
#include "casync/simulator/engine/task_progress.h"
#include "casync/simulator/engine/task_table.h"
#include "casync/simulator/engine/training_steps.h"
#include "casync/simulator/engine/training_work.h"
#include "casync/simulator/engine/virtual_clock.h"

namespace casync::engine {

/// One run of the simulator, in parts of one subject each. What happens at the same moment happens ahead of anything
/// new that begins at that moment, so that a resource chooses among all that is ready.
struct Engine {
  /// Borrows its arguments, which have been checked.
  Engine(const Scenario& scenario, const SimulationOptions& options, const FlatTasks& flat, Drift drift);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Internal: some task can never run.
  Result<Simulation> run();

  const Scenario& scenario;
  const SimulationOptions& options;
  const Drift drift;
  const TaskTable tasks;
  const Routes routes;
  VirtualClock clock;
  StepRecord record;
  TaskProgress progress;
  TrainingWork training_work;
  Processors processors;
  MessageProcessors messages;
  DeviceCopies copies;
  Network network;
  TrainingSteps training;
  DriftingRanks drifting;

 private:
  void happen(const Event& event);
  /// Begins what may begin at this moment.
  void dispatch();
  Simulation result();
};

}  // namespace casync::engine
