// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "casync/graph/task_graph.h"

namespace casync {

/// The places of a slice: "[0, 64)".
std::string text_of(const Slice& slice);

/// One task as a line without its number: "send b0 to rank 2 as 1.0" (partition 1, hop 0).
std::string task_text(const TaskGraph& graph, TaskId task);

/// A graph for people and golden tests: its buffers, then its tasks in order, each with what it waits for.
std::string graph_text(const TaskGraph& graph);

/// The graphs of ranks 0, 1, ... as one drawing for Graphviz: a box for each rank, and dashed arrows for the
/// messages between those ranks that are given.
std::string graphs_dot(std::span<const TaskGraph> ranks);

}  // namespace casync
