// SPDX-License-Identifier: Apache-2.0
//
// Records of sessions on a GPU, which the emulated driver is: moments by a time that the test sets, and the host's
// samples.
#include <spdlog/sinks/ostream_sink.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>

#include "base/log.h"
#include "casync/planner/model_file.h"
#include "tests/compll/cuda/emulated/driver.h"
#include "tests/runtime/session/driver_time.h"
#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/plan_file.h"
#include "tests/support/ranks.h"

using namespace casync;        // NOLINT(google-build-using-namespace)
using namespace casync::test;  // NOLINT(google-build-using-namespace)

namespace {

namespace emulated = compll::emulated;

constexpr const char* kGroup = "group { name: \"all\" gradient: \"g0\" gradient: \"g1\" } ";

/// Two ranks on a GPU train "a", "b" and "c" for so many steps. On rank 0 the device computes 10 ms until "b", and 20
/// until "a" and "c". "a" is needed at once, "b" 5 ms later, and then come 10 ms more.
std::string train(const PlanFile& plan, const std::string& folder, std::uint32_t steps = 6) {
  DriverTime time;
  return with_sessions(
      2,
      [&](SessionOptions& options) {
        options.plan_file = plan.path();
        options.record_directory = folder;
        on_gpu(options);
      },
      [&](Session& session, RankContext& context) -> std::string {
        Program program;
        std::vector<GradientId> ids;
        std::vector<Program::Floats> floats;
        for (const char* name : {"a", "b", "c"}) {
          const Result<GradientId> id = declare(session, name, 1000);
          if (!id) return id.status().text();
          ids.push_back(*id);
          floats.push_back(program.floats(1000));
        }
        const auto computes = [&](double ms) {
          if (context.rank == 0) time.computes(program, ms);
        };
        std::vector<Handle> handles(ids.size());
        Status status;
        const auto submit = [&](std::initializer_list<std::size_t> which, std::uint32_t step) {
          std::vector<Submission> all;
          std::vector<Handle> got(which.size());
          for (const std::size_t i : which) {
            program.write(floats[i], contribution(context.rank, 1000, step));
            all.push_back(program.submission(ids[i], floats[i]));
          }
          if (status) status = session.submit(all, got);
          for (std::size_t k = 0; k < which.size(); ++k) handles[which.begin()[k]] = got[k];
        };
        const auto wait = [&](std::size_t i) {
          if (status) status = session.wait(handles[i], -1);
        };
        for (std::uint32_t step = 0; step < steps; ++step) {
          computes(10);
          submit({1}, step);
          computes(20);
          submit({0, 2}, step);
          wait(0);
          computes(5);
          wait(1);
          computes(10);
          if (status) status = session.step().status();
        }
        return status ? "" : status.text();
      });
}

void check_moments(const std::string& folder) {
  const Result<Training> training = read_model_file(folder + "/model.txtpb");
  REQUIRE(training.status().text() == "OK");
  CHECK(training->backward_s == Approx(0.030));
  CHECK(training->forward_s == Approx(0.015));
  REQUIRE(training->gradients.size() == 3);
  const double ready[] = {0.030, 0.010, 0.030}, need[] = {0, 0.005, 0.015};
  for (std::size_t i = 0; i < 3; ++i) {
    INFO(i);
    CHECK(training->gradients[i].spec.name == std::string(1, static_cast<char>('a' + i)));
    CHECK(training->gradients[i].spec.elements() == 1000);
    CHECK(training->gradients[i].ready_s == Approx(ready[i]));
    CHECK(training->gradients[i].need_s == Approx(need[i]).margin(1e-6));
  }
}

/// The file of samples.
std::string samples_in(const std::string& folder) {
  std::ifstream file(folder + "/gradients.safetensors", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Rank 0's samples of two ranks that train gradients of these sizes, on the host or on a GPU.
std::string samples(const std::string& plan_text, int steps, DType dtype, bool on_device) {
  const PlanFile plan(plan_text);
  TemporaryDirectory folder;
  const std::string complaints = with_sessions(
      2,
      [&](SessionOptions& options) {
        options.plan_file = plan.path();
        options.record_directory = folder.path();
        if (on_device) on_gpu(options);
      },
      [&](Session& session, RankContext& context) -> std::string {
        std::unique_ptr<Program> program;
        if (on_device) program = std::make_unique<Program>();
        std::vector<GradientId> ids;
        std::vector<Program::Floats> floats;
        std::vector<std::vector<std::byte>> elements;
        const std::size_t sizes[] = {50'000, 100, 1};
        for (const std::size_t size : sizes) {
          const std::string name = "g" + std::to_string(ids.size());
          const Result<GradientId> id = session.declare({name, dtype, {static_cast<std::int64_t>(size)}, 0});
          if (!id) return id.status().text();
          ids.push_back(*id);
          if (on_device) floats.push_back(program->floats(size, dtype));
          elements.emplace_back(size * bytes_of(dtype));
        }
        for (int step = 0; step < steps; ++step) {
          std::vector<Submission> all;
          for (std::size_t i = 0; i < ids.size() && session.exchanged() != Exchanged::kNothing; ++i) {
            const std::vector<float> values = contribution(context.rank, sizes[i], static_cast<std::uint32_t>(step));
            if (on_device) {
              program->write(floats[i], values);
              all.push_back(program->submission(ids[i], floats[i]));
            } else {
              convert(values, dtype, elements[i].data());
              all.push_back({ids[i], {elements[i].data(), elements[i].size()}});
            }
          }
          const Result<std::vector<Handle>> handles = session.submit(all);
          const Status status = handles ? session.step().status() : handles.status();
          if (!status) return status.text();
        }
        return "";
      });
  CHECK(complaints == "");
  return samples_in(folder.path());
}

}  // namespace

TEST_CASE("record on a GPU: gradients are ready when the device has written them, needed where the program waits") {
  for (const char* text : {"default { codec { name: \"int4\" } }",
                           "group { name: \"two\" gradient: \"a\" gradient: \"c\" codec { name: \"int4\" } }"}) {
    INFO(text);
    const PlanFile plan(text);
    TemporaryDirectory folder;
    REQUIRE(train(plan, folder.path()) == "");
    check_moments(folder.path());
  }
}

TEST_CASE("record on a GPU: a plan's prediction is compared with the time that the device takes") {
  const PlanFile plan("predicted { step_seconds: 1 training_seconds: 1 }");
  std::ostringstream words;
  log().sinks().push_back(std::make_shared<spdlog::sinks::ostream_sink_mt>(words));
  const std::string complaints = train(plan, "", 60);
  log().sinks().pop_back();
  CHECK(complaints == "");
  CHECK_THAT(words.str(), Catch::Contains("training takes 45.000 ms, predicted were 1000.000"));
}

TEST_CASE("record on a GPU: the samples are the host's, half precision too, with groups, staleness and local SGD") {
  const std::string codec = "default { codec { name: \"int4\" } } ", group = kGroup;
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    for (const std::string& plan : {codec, codec + group, codec + "staleness: 1 ", codec + group + "staleness: 2 ",
                                    codec + "local_sgd { every: 2 from_step: 2 } "}) {
      INFO(name_of(dtype) << ", " << plan);
      const std::string on_host = samples(plan, 11, dtype, false);
      CHECK(on_host.size() > (16384 + 100 + 1) * sizeof(float));
      CHECK((samples(plan, 11, dtype, true) == on_host));
    }
  }
}

TEST_CASE("record on a GPU: a sample is copied ahead of the result, however long that takes") {
  for (const std::string& plan : {std::string("default { codec { name: \"none\" } } "), std::string(kGroup)}) {
    INFO(plan);
    const std::string on_host = samples(plan, 3, DType::kFloat32, false);
    emulated::slow_down_copies(4096 * sizeof(float), 50);  // pieces of a sample
    const std::string on_device = samples(plan, 3, DType::kFloat32, true);
    emulated::slow_down_copies(0, 0);
    CHECK((on_device == on_host));
  }
}
