// SPDX-License-Identifier: Apache-2.0
//
// The stages of all plans in vector form: what tiles read is there.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "compll/ir/vector/cuda/stages.h"
#include "compll/lang/front_end.h"
#include "tests/compll/program/stage_conflicts.h"
#include "tests/compll/random_programs/program_writer.h"
#include "tests/compll/support/programs.h"

namespace casync::compll::cuda_vector {
namespace {

/// The launches of a program; none if it cannot be compiled for CUDA.
struct Launches {
  explicit Launches(const std::string& text) : source("x.cll", text), program(compile(source)) {
    REQUIRE(program.status().text() == "OK");
    if (program->synchronize) {
      Result<Turns> plan = plan_turns(*program, source);
      if (plan) routines = plan->turns;
    } else if (const Result<Plan> plan = plan_vector(*program, source)) {
      for (const Routine* routine : routines_of(*plan)) routines.push_back(*routine);
    }
  }

  const Source source;
  const Result<Program> program;
  std::vector<Routine> routines;
};

/// Checks all launches of a program. Returns true if it has any.
bool check_launches(const std::string& text) {
  const Launches launches(text);
  for (const Routine& routine : launches.routines) {
    INFO(routine.name);
    CHECK(stage_conflicts(routine) == std::vector<std::string>{});
  }
  return !launches.routines.empty();
}

/// Checks all programs of a folder. Returns their number.
std::size_t check_folder(const std::string& folder) {
  std::size_t checked = 0;
  for (const auto& file : std::filesystem::directory_iterator(std::string(CASYNC_SOURCES) + "/" + folder)) {
    if (file.path().extension() != ".cll") continue;
    INFO(file.path().filename().string());
    std::ifstream in(file.path());
    checked += check_launches({std::istreambuf_iterator<char>(in), {}}) ? 1 : 0;
  }
  return checked;
}

/// The conflicts of encode after its tasks are changed.
template <class Change>
std::vector<std::string> conflicts_of(const Launches& launches, const Change& change) {
  REQUIRE_FALSE(launches.routines.empty());
  Routine routine = launches.routines.front();
  CHECK(stage_conflicts(routine) == std::vector<std::string>{});
  change(routine.tasks);
  routine.stages.clear();
  divide_stages(routine);
  return stage_conflicts(routine);
}

std::string encode(const std::string& steps, const std::string& sent, const std::string& before = "") {
  return before + "void encode(float* g, uint8* c) {\n" + steps + "c = concat(" + sent +
         ");\n}\nvoid decode(uint8* c, float* g) { float* y; extract(c, y); \n"
         "g = map(range(g.size), [&](int i) -> float { return y[i]; }); }\n";
}

/// The task with the work that the function accepts.
template <class Accepts>
Task& task_with(std::vector<Task>& tasks, const Accepts& accepts) {
  const auto found = std::find_if(tasks.begin(), tasks.end(), [&](Task& task) { return accepts(task); });
  REQUIRE(found != tasks.end());
  return *found;
}
template <class Kind>
Task& task_of(std::vector<Task>& tasks) {
  return task_with(tasks, [](Task& task) { return work_of<Kind>(task) != nullptr; });
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("stages: tiles of all codecs and test programs read what is there") {
  CHECK(check_folder("compll/codecs") > 50);
  CHECK(check_folder("tests/compll/program") > 20);
  CHECK(check_folder("tests/compll/cuda/programs") > 10);
  CHECK(check_folder("tests/compll/language/golden") > 0);
}

TEST_CASE("stages: tiles of random programs read what is there") {
  std::size_t checked = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    INFO("seed " << seed);
    checked += check_launches(test::random_program(seed)) ? 1 : 0;
  }
  CHECK(checked > 100);
}

TEST_CASE("stages: elements for blocks that are read by places in the stage of their blocks are a conflict") {
  const Launches launches(
      encode("float* top = block_reduce(g, 16, magnitude);\n"
             "uint* large = where(top, top.size, [&](float x) -> bool { return x > 1; });\n"
             "float* value = scatter(large, 0, top);\n",
             "value"));
  const Lines found = conflicts_of(launches, [](std::vector<Task>& tasks) { --task_of<PickWhere>(tasks).stage; });
  CHECK(found == Lines{"stage 0, work 1 and stage 0, work 2: other shares of top_1"});
}

TEST_CASE("stages: a result that is read ahead of its reduction, or in its stage, is a conflict") {
  const Launches launches(
      encode("float top = reduce(g, max);\n"
             "float* y = block_reduce(map(g, [&](float x) -> float { return x / top; }), 16, max);\n",
             "y"));
  const auto found_if = [&](bool comes_last) {
    return conflicts_of(launches, [&](std::vector<Task>& tasks) {
      Task& task = task_of<ReduceJoined>(tasks);
      task.stage = comes_last ? 2 : 1;
    });
  };
  CHECK(found_if(false).size() == 1);
  const Lines late = found_if(true);
  REQUIRE_FALSE(late.empty());
  CHECK(late.front().find(": reads max_") != std::string::npos);
  CHECK(late.front().find(" ahead of stage 2, work 0") != std::string::npos);
}

TEST_CASE("stages: an array that is read after it is changed where it lies is a conflict") {
  const Launches launches(
      encode("float* all = map(left, g, [&](float l, float x) -> float { return l + x; });\n"
             "uint* place = largest(all, 10, absolute);\n"
             "float* y = gather(all, place);\n"
             "left = scatter(place, 0, all);\n",
             "y", "state float* left;\n"));
  const Lines found = conflicts_of(launches, [](std::vector<Task>& tasks) {
    Task send = task_of<Send>(tasks);
    std::erase_if(tasks, [](Task& task) { return work_of<Send>(task) != nullptr; });
    send.stage = task_of<Change>(tasks).stage;
    send.piece = 0;
    tasks.push_back(send);
  });
  REQUIRE(found.size() == 1);
  CHECK(found.front().find(": reads state 0 after it is changed") != std::string::npos);
}

TEST_CASE("stages: memory that nothing writes is a conflict") {
  const Launches launches(encode("float* y = block_reduce(g, 16, max);\n", "y"));
  const Lines found = conflicts_of(launches, [](std::vector<Task>& tasks) {
    std::erase_if(tasks, [](Task& task) { return work_of<ReduceBlocks>(task); });
  });
  REQUIRE(found.size() == 1);
  CHECK(found.front() == "stage 0, work 1: reads y_1, which nothing writes");
}

}  // namespace casync::compll::cuda_vector
