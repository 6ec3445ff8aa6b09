// SPDX-License-Identifier: Apache-2.0
//
// Modes of synchronization on a GPU: the bytes are those of sessions on the host.
#include <algorithm>
#include <barrier>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <thread>

#include "tests/runtime/session/device_cases.h"
#include "tests/runtime/session/plan_file.h"
#include "tests/runtime/session/ways.h"

using namespace casync;                // NOLINT(google-build-using-namespace)
using namespace casync::test;          // NOLINT(google-build-using-namespace)
using namespace casync::test::device;  // NOLINT(google-build-using-namespace)

TEST_CASE("staleness on a GPU: the bytes and the states are the host's, by every strategy, of 1 to 4 ranks") {
  for (const int staleness : {1, 2}) {
    const std::string mode = "staleness: " + std::to_string(staleness) + " ";
    for (const int ranks : {1, 2, 4}) {
      for (const char* codec : {"none", "int4", "topk_coded", "powersgd"}) {
        INFO(codec << ", staleness " << staleness << ", " << ranks << " ranks");
        CHECK(compare(ranks, mode + plan_of(codec, "ps")) == "");
      }
    }
    for (const Way& way : ways_of(3)) {
      INFO(way.strategy << " " << way.nodes << ", staleness " << staleness);
      CHECK(compare(3, mode + plan_of("int4", way.strategy), gaussians, way.nodes) == "");
    }
  }
}

TEST_CASE("staleness on a GPU: half precision, and gradients that are not finite") {
  const std::string plan = "staleness: 1 " + plan_of("int4", "ps");
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    CHECK(compare(2, plan, awkward_for_halves, "", "loopback", dtype) == "");
  }
  const Values values = [](int rank, std::uint32_t step) {
    std::vector<std::vector<float>> all = gaussians(rank, step);
    if (rank == 1 && step == 1) all[1][5] = std::numeric_limits<float>::infinity();
    return all;
  };
  AllSeen host, device;
  CHECK(run(2, false, plan, host, values) == "");
  CHECK(run(2, true, plan, device, values) == "");
  CHECK(device[0].steps == std::vector<std::string>{"1", "1", "0g1"});
  CHECK(device[0].steps == host[0].steps);
  CHECK(device[1].steps == host[1].steps);
}

TEST_CASE("staleness on a GPU: a wait for a result finds it in its memory") {
  const PlanFile plan("staleness: 1 default { codec { name: \"none\" } }");
  const std::string complaints =
      with_sessions(2, on_gpu_by(plan), [](Session& session, RankContext& context) -> std::string {
        Program program;
        const Result<GradientId> ids[] = {declare(session, "a", 3000), declare(session, "b", 70)};
        Program::Floats floats[] = {program.floats(3000), program.floats(70)};
        for (std::uint32_t step = 0; step < 6; ++step) {
          std::vector<Submission> all;
          for (std::size_t i = 0; i < 2; ++i) {
            program.write(floats[i], contribution(context.rank, floats[i].count, step));
            all.push_back(program.submission(*ids[i], floats[i]));
          }
          const auto handles = session.submit(all);
          if (!handles) return handles.status().text();
          if (step % 3 == 0) {
            for (const Handle handle : *handles) {
              if (const Status status = session.wait(handle, -1, Waiter::kProgram); !status) return status.text();
            }
          } else if (step % 3 == 1) {
            while (!session.done((*handles)[0]) || !session.done((*handles)[1])) std::this_thread::yield();
          } else {
            const std::atomic<bool> interrupted{false};
            std::vector<Handle> left(*handles), done;
            while (!left.empty()) {
              const Status status = session.wait_any(left, Clock::time_point::max(), interrupted, &done);
              if (!status) return status.text();
              std::erase_if(left, [&](Handle one) { return std::find(done.begin(), done.end(), one) != done.end(); });
            }
          }
          for (const Program::Floats& each : floats) {
            const std::vector<float> wanted =
                step == 0 ? std::vector<float>(each.count) : average(2, each.count, step - 1);
            if (!same_floats(program.read(each), wanted)) return "step " + std::to_string(step) + ": another result";
          }
          if (const auto done = session.step(); !done) return done.status().text();
        }
        return "";
      });
  CHECK(complaints == "");
}

TEST_CASE("staleness on a GPU: a training that is saved goes on, on the host too") {
  const PlanFile plan("staleness: 2 default { codec { name: \"int4\" } }");
  SessionState taken[2];
  std::vector<float> through[2], on_gpu_again[2], on_host[2];
  const auto steps = [&](bool on_device, std::uint32_t from, std::uint32_t to, bool saves, std::vector<float>* last) {
    return with_sessions(2, on_gpu_by(plan, on_device), [&](Session& session, RankContext& context) -> std::string {
      Gradients gradients(session, on_device);
      if (from > 0) {
        if (Status status = session.load_state(taken[context.rank]); !status) return status.text();
      }
      if (Status status = gradients.declare_all(); !status) return status.text();
      for (std::uint32_t step = from; step < to; ++step) {
        std::vector<std::vector<float>> all = gaussians(context.rank, step);
        if (const auto done = gradients.step(all); !done) return done.status().text();
        if (saves && step == 2) taken[context.rank] = *session.state();
        last[context.rank] = all[0];
      }
      return "";
    });
  };
  CHECK(steps(true, 0, 6, true, through) == "");
  CHECK(steps(true, 3, 6, false, on_gpu_again) == "");
  CHECK(steps(false, 3, 6, false, on_host) == "");
  for (int rank = 0; rank < 2; ++rank) {
    CHECK(same_floats(on_gpu_again[rank], through[rank]));
    CHECK(same_floats(on_host[rank], through[rank]));
  }
}

TEST_CASE("local SGD on a GPU: the bytes are the host's") {
  for (const char* codec : {"int4", "topk", "lossless"}) {
    INFO(codec);
    const PlanFile plan(std::string("local_sgd { every: 3 from_step: 2 } default { codec { name: \"") + codec +
                        "\" } strategy: ps partitions: 2 }");
    AllSeen seen[2];
    for (const bool on_device : {false, true}) {
      AllSeen& all = seen[on_device ? 1 : 0];
      all.assign(3, {});
      const std::string complaints =
          with_sessions(3, on_gpu_by(plan, on_device), [&](Session& session, RankContext& context) -> std::string {
            Gradients gradients(session, on_device);
            if (Status status = gradients.declare_all(); !status) return status.text();
            for (std::uint32_t step = 0; step < 8; ++step) {
              if (session.exchanged() == Exchanged::kNothing) {
                if (const auto done = session.step(); !done) return done.status().text();
                continue;
              }
              std::vector<std::vector<float>> values = gaussians(context.rank, step);
              if (const auto done = gradients.step(values); !done) return done.status().text();
              for (auto& one : values) all[static_cast<std::size_t>(context.rank)].gradients.push_back(std::move(one));
            }
            return "";
          });
      CHECK(complaints == "");
    }
    CHECK(seen[0][0].gradients.size() == 4 * std::size(kSizes));
    CHECK(difference(seen[0], seen[1]) == "");
  }
}

TEST_CASE("groups on a GPU: the bytes and the states are the host's, alone and with staleness, of 1 to 4 ranks") {
  for (const char* codec : {"none", "int4", "topk_coded"}) {
    const std::string choice = std::string("codec { name: \"") + codec + "\" }";
    const std::string group = "default { " + choice + " } group { name: \"two\" gradient: \"g0\" gradient: \"g2\" " +
                              choice + " partitions: 3 }";
    for (const int ranks : {1, 2, 4}) {
      INFO(group << ", " << ranks << " ranks");
      CHECK(compare(ranks, group) == "");
      CHECK(compare(ranks, group, awkward_for_halves, "", "loopback", DType::kFloat16) == "");
    }
    INFO(group);
    CHECK(compare(2, "staleness: 1 " + group) == "");
  }
}

TEST_CASE("groups on a GPU: the member that is not finite is named") {
  const Values values = [](int rank, std::uint32_t step) {
    std::vector<std::vector<float>> all = gaussians(rank, step);
    if (rank == 1 && step == 1) all[2][0] = std::numeric_limits<float>::infinity();
    return all;
  };
  const std::string plan =
      "default { codec { name: \"int8\" } } group { name: \"all\" gradient: \"g0\" gradient: \"g1\" gradient: \"g2\" }";
  AllSeen host, device;
  CHECK(run(2, false, plan, host, values) == "");
  CHECK(run(2, true, plan, device, values) == "");
  CHECK(device[0].steps[1].substr(0, 1) == "0");
  CHECK(device[0].steps == host[0].steps);
  CHECK(device[1].steps == host[1].steps);
}

TEST_CASE("credit on a GPU: the bytes are the host's") {
  for (const char* codec : {"none", "int4"}) {
    CHECK(compare(3, "credit_bytes: 4096 " + plan_of(codec, "ps")) == "");
  }
}
