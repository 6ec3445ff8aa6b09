// SPDX-License-Identifier: Apache-2.0
//
// A forked child of a process with a session on a GPU: the driver's context is the parent's.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/compll/cuda/emulated/driver.h"
#include "tests/runtime/session/gpu.h"
#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/plan_file.h"
#include "tests/support/ranks.h"

using namespace casync;        // NOLINT(google-build-using-namespace)
using namespace casync::test;  // NOLINT(google-build-using-namespace)

namespace {

std::uint64_t calls_that_free() {
  std::uint64_t sum = 0;
  for (const char* name : {"cuMemFree_v2", "cuMemFreeHost", "cuEventDestroy_v2", "cuStreamDestroy_v2", "cuModuleUnload",
                           "cuDevicePrimaryCtxRelease_v2", "cuCtxDestroy_v2"}) {
    sum += compll::emulated::calls(name);
  }
  return sum;
}

}  // namespace

TEST_CASE("session fork: a child frees nothing of the device, and the parent goes on") {
  for (const char* plan : {"default { codec { name: \"int4\" } }", "staleness: 1 default { codec { name: \"int4\" } }",
                           "group { name: \"g\" gradient: [\"a\", \"b\"] codec { name: \"int4\" } }"}) {
    INFO(plan);
    TemporaryDirectory record;
    const PlanFile file(plan);
    const std::string complaints = run_ranks(1, [&](RankContext& context) -> std::string {
      context.options.plan_file = file.path();
      context.options.record_directory = record.path();
      on_gpu(context.options);
      Result<std::unique_ptr<Session>> session = Session::open(context.options);
      if (!session) return session.status().text();
      Program program;
      std::vector<GradientId> ids;
      std::vector<Program::Floats> floats;
      for (const char* name : {"a", "b"}) {
        ids.push_back(*declare(**session, name, 1000));
        floats.push_back(program.floats(1000));
      }
      const auto train = [&]() -> std::string {
        std::vector<Submission> all;
        for (std::size_t i = 0; i < ids.size(); ++i) all.push_back(program.submission(ids[i], floats[i]));
        const Result<std::vector<Handle>> handles = (*session)->submit(all);
        const Status done = handles ? (*session)->step().status() : handles.status();
        return done ? "" : done.text();
      };
      if (std::string bad = train(); !bad.empty()) return bad;
      if (!(*session)->state()) return "no state";  // no thread is in the middle of anything now
      const pid_t child = fork();
      if (child == 0) {
        alarm(20);  // a child that hangs is a failure
        const std::uint64_t before = calls_that_free();
        session->reset();
        _exit(calls_that_free() == before ? 0 : 1);
      }
      int status = -1;
      waitpid(child, &status, 0);
      if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return "the child ended with " + std::to_string(status);
      return train();
    });
    CHECK(complaints == "");
  }
}
