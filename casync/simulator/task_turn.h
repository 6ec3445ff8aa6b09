// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace casync {

/// Seconds for which a session's thread runs codec tasks until it looks at its messages again (kTaskTime in
/// runtime/executor/computing.cc).
inline constexpr double kTaskTurn = 50e-6;

/// The turns of a thread that does both codec tasks and messages: a turn of tasks, the messages that it made and those
/// that have come, and so on. Messages leave between turns, so that those of one turn travel together.
class TaskTurns {
 public:
  /// Returns true if the turn under way has time for one more task.
  bool goes_on(double now) const { return now < ends_; }
  /// Returns true if messages of the last turn may wait to leave. They go ahead of the next turn.
  bool leaves_messages() const { return leaves_messages_; }
  void begin(double now) {
    ends_ = now + kTaskTurn;
    leaves_messages_ = false;
  }
  void end_task() { leaves_messages_ = true; }

 private:
  double ends_ = 0;
  bool leaves_messages_ = false;
};

}  // namespace casync
