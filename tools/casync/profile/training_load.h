// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace casync::tools {

/// The processor load of training: threads that each multiply their share of a layer's matrices, out of memory that
/// no cache near a processor holds, and meet between layers, as those of a framework do. A thread that has lost
/// its processor to another program therefore holds up all of them.
///
/// Runs from construction to destruction, on the processors of the thread that made it.
class TrainingLoad {
 public:
  explicit TrainingLoad(int threads);
  ~TrainingLoad();
  TrainingLoad(const TrainingLoad&) = delete;
  TrainingLoad& operator=(const TrainingLoad&) = delete;

  /// The number of layers computed so far. Any thread.
  double layers() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace casync::tools
