// SPDX-License-Identifier: Apache-2.0
//
// The record of a run, without a session.
#include "runtime/session/run_record.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "casync/planner/model_file.h"
#include "runtime/device/host/host_device.h"
#include "tests/runtime/session/gradients.h"
#include "tests/support/temporary_directory.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)

namespace {

/// The record of two gradients of two elements.
struct Record {
  Record(const std::string& directory, const SyncMode& mode, bool is_watched)
      : record(directory, {2}, mode, is_watched, *device) {
    for (const char* name : {"a", "b"}) REQUIRE(record.declared({name, DType::kFloat32, {2}, 0}));
  }
  void step(std::uint32_t number) {
    std::vector<float> a = {1, 2}, b = {3, 4};
    Submission both[] = {{GradientId(0), view_of(a)}, {GradientId(1), view_of(b)}};
    record.submitted(both);
    if (record.samples(Exchanged::kGradients)) {
      for (Submission& one : both) REQUIRE(record.sample(one, number));
    }
    record.needs(0);
    record.computed();
    record.step_ended();
  }

  const std::unique_ptr<Device> device = make_host_device();
  RunRecord record;
};

struct Files {
  std::string path() const { return folder.path() + "/record"; }
  bool has(const char* name) const { return std::filesystem::exists(path() + "/" + name); }

  TemporaryDirectory folder;
};

}  // namespace

TEST_CASE("run record: the files are a model of the training, and samples of its gradients") {
  Files files;
  Record it(files.path(), {}, false);
  for (std::uint32_t step = 0; step < 3; ++step) it.step(step);
  CHECK(it.record.waits(0));
  it.record.goes_on();
  it.record.end_watch();  // the model is recorded all the same
  CHECK(it.record.waits(0));
  it.record.goes_on();
  it.record.write({});
  const Result<Training> training = read_model_file(files.path() + "/model.txtpb");
  REQUIRE(training.status().text() == "OK");
  REQUIRE(training->gradients.size() == 2);
  CHECK(training->gradients[0].spec.elements() == 2);
  CHECK(files.has("gradients.safetensors"));
}

TEST_CASE("run record: in another mode there are samples only, of what the plan's codecs encode") {
  SyncMode local;
  local.every = 4;
  Files files;
  Record it(files.path(), local, false);
  CHECK_FALSE(it.record.samples(Exchanged::kGradients));
  CHECK_FALSE(it.record.samples(Exchanged::kParameters));
  CHECK(it.record.samples(Exchanged::kDifferences));
  CHECK_FALSE(it.record.waits(0));
  std::vector<float> difference = {1, 2};
  Submission one{GradientId(1), view_of(difference)};
  REQUIRE(it.record.sample(one, 3));
  it.record.write({});
  CHECK_FALSE(files.has("model.txtpb"));
  CHECK(files.has("gradients.safetensors"));
}

TEST_CASE("run record: a rank beside rank 0 has its pace and no files, and none where no model is recorded") {
  const std::unique_ptr<Device> device = make_host_device();
  const std::unique_ptr<RunRecord> record = record_of_pace({2}, {}, *device);
  REQUIRE(record);
  CHECK_FALSE(record->samples(Exchanged::kGradients));
  REQUIRE(record->declared({"a", DType::kFloat32, {2}, 0}));
  CHECK_FALSE(record->pace());
  std::vector<float> a = {1, 2};
  const Submission one{GradientId(0), view_of(a)};
  record->submitted({&one, 1});
  record->computed();
  record->step_ended();
  REQUIRE(record->pace());
  CHECK(record->pace()->steps == 1);
  record->write({});
  SyncMode local;
  local.every = 4;
  CHECK_FALSE(record_of_pace({2}, local, *device));
}

TEST_CASE("run record: the model has the ranks that differ") {
  Files files;
  Record it(files.path(), {}, false);
  for (std::uint32_t step = 0; step < 20; ++step) it.step(step);
  const Pace own = *it.record.pace();
  it.record.write({{1, Pace{own.median_s + 1, 0, 20}}});
  const Result<Training> training = read_model_file(files.path() + "/model.txtpb");
  REQUIRE(training.status().text() == "OK");
  REQUIRE(training->slow.size() == 1);
  CHECK(training->slow[0].rank == 1);
}

TEST_CASE("run record: one that is only watched has moments as long as somebody watches, and no files") {
  Record it("", {}, true);
  CHECK_FALSE(it.record.samples(Exchanged::kGradients));
  it.step(0);
  CHECK(it.record.program_seconds_of_last_step() >= 0);
  CHECK(it.record.waits(0));
  it.record.goes_on();
  it.record.end_watch();
  CHECK_FALSE(it.record.waits(0));
  it.step(1);
  it.record.write({});
}
