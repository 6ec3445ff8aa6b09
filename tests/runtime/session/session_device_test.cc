// SPDX-License-Identifier: Apache-2.0
//
// Sessions whose gradients lie on a GPU, which the emulated driver is: the bytes are those of sessions on the host.
#include <catch2/catch.hpp>
#include <fstream>
#include <limits>
#include <map>
#include <set>

#include "tests/runtime/session/emulated_gpu.h"
#include "tests/runtime/session/ways.h"
#include "tests/support/ranks.h"

using namespace casync;        // NOLINT(google-build-using-namespace)
using namespace casync::test;  // NOLINT(google-build-using-namespace)

namespace {

// One that is cut into partitions, one of a single block, one element.
constexpr std::size_t kSizes[] = {3 * 1040, 129, 1};
constexpr std::uint32_t kSteps = 3;

/// A rank's view: of each step each gradient and what the step said, and its states at the end.
struct Seen {
  std::vector<std::vector<float>> gradients;
  std::vector<std::string> steps;
  std::map<std::string, std::vector<float>> states;
  bool operator==(const Seen&) const = default;
};
using AllSeen = std::vector<Seen>;

/// Gradients of a rank, in host memory or on the device.
class Gradients {
 public:
  Gradients(Session& session, bool on_device) : session_(session), on_device_(on_device) {
    if (on_device) program_ = std::make_unique<Program>();
  }
  Status declare_all() {
    for (const std::size_t size : kSizes) {
      const Result<GradientId> id = declare(session_, "g" + std::to_string(ids_.size()), size);
      if (!id) return id.status();
      ids_.push_back(*id);
      if (on_device_) floats_.push_back(program_->floats(size));
    }
    return Status::ok();
  }
  /// One step over these values, which become the results.
  Result<StepResult> step(std::vector<std::vector<float>>& values) {
    std::vector<Submission> all;
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      if (on_device_) program_->write(floats_[i], values[i]);
      all.push_back(on_device_ ? program_->submission(ids_[i], floats_[i]) : Submission{ids_[i], view_of(values[i])});
    }
    const Result<std::vector<Handle>> handles = session_.submit(all);
    if (!handles) return handles.status();
    Result<StepResult> done = session_.step();
    for (std::size_t i = 0; on_device_ && i < ids_.size(); ++i) values[i] = program_->read(floats_[i]);
    return done;
  }

 private:
  Session& session_;
  const bool on_device_;
  std::unique_ptr<Program> program_;
  std::vector<GradientId> ids_;
  std::vector<Program::Floats> floats_;
};

using Values = std::function<std::vector<std::vector<float>>(int rank, std::uint32_t step)>;

std::vector<std::vector<float>> gaussians(int rank, std::uint32_t step) {
  std::vector<std::vector<float>> values;
  for (const std::size_t size : kSizes) values.push_back(contribution(rank, size, 7 * step + 1));
  return values;
}

/// "" or what went wrong.
std::string run(int ranks, bool on_device, const std::string& plan, AllSeen& seen, const Values& values = gaussians,
                const std::string& nodes = "", const std::string& transport = "loopback") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/plan.txtpb";
  std::ofstream(path) << "version: 1 seed: 5 " << plan << "\n";
  seen.assign(static_cast<std::size_t>(ranks), {});
  const auto configure = [&](SessionOptions& options) {
    options.plan_file = path;
    if (!nodes.empty()) options.launch.node = nodes.substr(static_cast<std::size_t>(*options.launch.rank), 1);
    if (on_device) on_emulated(options);
  };
  const auto body = [&](Session& session, RankContext& context) -> std::string {
    Seen& here = seen[static_cast<std::size_t>(context.rank)];
    Gradients gradients(session, on_device);
    if (Status status = gradients.declare_all(); !status) return status.text();
    for (std::uint32_t step = 0; step < kSteps; ++step) {
      std::vector<std::vector<float>> all = values(context.rank, step);
      const Result<StepResult> done = gradients.step(all);
      if (!done) return done.status().text();
      here.steps.push_back(std::to_string(done->finite) + done->first_non_finite);
      for (auto& one : all) here.gradients.push_back(std::move(one));
    }
    const Result<SessionState> state = session.state();
    if (!state) return state.status().text();
    for (const auto& [name, one] : state->gradients) here.states[name] = one.residual;
    return "";
  };
  return with_sessions(ranks, configure, body, transport);
}

bool same_floats(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

/// The first difference, "" if there is none.
std::string difference(const AllSeen& host, const AllSeen& device) {
  for (std::size_t rank = 0; rank < host.size(); ++rank) {
    const std::string on = "rank " + std::to_string(rank) + ": ";
    if (host[rank].steps != device[rank].steps) return on + "what steps say";
    for (std::size_t i = 0; i < host[rank].gradients.size(); ++i) {
      if (same_floats(host[rank].gradients[i], device[rank].gradients[i])) continue;
      return on + "step " + std::to_string(i / std::size(kSizes)) + ", gradient " +
             std::to_string(i % std::size(kSizes));
    }
    for (const auto& [name, state] : host[rank].states) {
      if (!same_floats(state, device[rank].states.at(name))) return on + "the state of " + name;
    }
  }
  return "";
}

std::string compare(int ranks, const std::string& plan, const Values& values = gaussians, const std::string& nodes = "",
                    const std::string& transport = "loopback") {
  AllSeen host, device;
  if (std::string bad = run(ranks, false, plan, host, values, nodes, transport); !bad.empty()) return "host: " + bad;
  if (std::string bad = run(ranks, true, plan, device, values, nodes, transport); !bad.empty()) return "device: " + bad;
  return difference(host, device);
}

std::string plan_of(const std::string& codec, const std::string& strategy, const std::string& more = "") {
  return "default { codec { name: \"" + codec + "\" } strategy: " + strategy + " partitions: 3 " + more + " }";
}

}  // namespace

TEST_CASE("session on a GPU: the bytes of every codec are the host's, by ps") {
  for (const std::string& codec : compll::codec_names()) {
    if (codec == "powersgd") continue;  // refused by name
    INFO(codec);
    CHECK(compare(2, plan_of(codec, "PS")) == "");
  }
}

TEST_CASE("session on a GPU: the bytes are the host's, of 1 to 4 ranks") {
  for (const int ranks : {1, 3, 4}) {
    for (const char* codec : {"none", "int4", "onebit", "topk", "diana", "signsgd"}) {
      INFO(codec << ", " << ranks << " ranks");
      CHECK(compare(ranks, plan_of(codec, "PS")) == "");
    }
  }
}

TEST_CASE("session on a GPU: the bytes are the host's, by every strategy") {
  for (const Way& way : ways_of(4)) {
    for (const char* codec : {"none", "int4", "topk"}) {
      INFO(codec << ", " << way.strategy << " " << way.nodes);
      const std::string plan = plan_of(codec, way.strategy);
      AllSeen host;
      if (!run(4, false, plan, host, gaussians, way.nodes).empty()) continue;  // the strategy refuses this codec
      CHECK(compare(4, plan, gaussians, way.nodes) == "");
    }
  }
}

TEST_CASE("session on a GPU: another codec on the second hop, and steps of warm-up") {
  const char* const hops =
      "default { codec { name: \"topk\" } second_hop { name: \"int8\" } strategy: PS partitions: 2 }";
  CHECK(compare(3, hops) == "");
  const char* const raw = "default { codec { name: \"int4\" } second_hop { name: \"none\" } strategy: PS }";
  CHECK(compare(3, raw) == "");
  CHECK(compare(2, plan_of("topk", "PS", "warm_up_steps: 2")) == "");
}

TEST_CASE("session on a GPU: a gradient that is not finite is said, and residuals stay as they were") {
  const Values values = [](int rank, std::uint32_t step) {
    std::vector<std::vector<float>> all = gaussians(rank, step);
    if (rank == 1 && step == 1) all[1][5] = std::numeric_limits<float>::infinity();
    return all;
  };
  for (const char* codec : {"none", "int8", "topk"}) {
    INFO(codec);
    AllSeen host, device;
    CHECK(run(2, false, plan_of(codec, "PS"), host, values) == "");
    CHECK(run(2, true, plan_of(codec, "PS"), device, values) == "");
    CHECK(host[0].steps == std::vector<std::string>{"1", "0g1", "1"});
    CHECK(device[0].steps == host[0].steps);
    CHECK(device[1].steps == host[1].steps);
    CHECK(same_floats(device[0].states["g0"], host[0].states["g0"]));
    CHECK(same_floats(device[1].gradients[6], host[1].gradients[6]));
  }
}

TEST_CASE("session on a GPU: a state goes on where it was taken, on the host too") {
  SessionState taken[2];
  std::vector<float> before[2], after[2], on_host[2];
  const auto steps = [&](bool on_device, std::uint32_t from, std::uint32_t to, const SessionState* loaded,
                         SessionState* state, std::vector<float>* last) {
    return with_sessions(
        2,
        [&](SessionOptions& options) {
          options.codec = CodecChoice{"int4", {}};
          if (on_device) on_emulated(options);
        },
        [&](Session& session, RankContext& context) -> std::string {
          Gradients gradients(session, on_device);
          if (loaded != nullptr) {
            if (Status status = session.load_state(loaded[context.rank]); !status) return status.text();
          }
          if (Status status = gradients.declare_all(); !status) return status.text();
          for (std::uint32_t step = from; step < to; ++step) {
            std::vector<std::vector<float>> all = gaussians(context.rank, step);
            if (const auto done = gradients.step(all); !done) return done.status().text();
            if (state != nullptr && step == 1) state[context.rank] = *session.state();
            last[context.rank] = all[0];
          }
          return "";
        });
  };
  CHECK(steps(true, 0, 4, nullptr, taken, before) == "");
  CHECK(steps(true, 2, 4, taken, nullptr, after) == "");
  CHECK(steps(false, 2, 4, taken, nullptr, on_host) == "");
  for (int rank = 0; rank < 2; ++rank) {
    CHECK(same_floats(after[rank], before[rank]));
    CHECK(same_floats(on_host[rank], before[rank]));
  }
}
