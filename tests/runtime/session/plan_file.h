// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <functional>
#include <string>

#include "runtime/session/session.h"
#include "tests/support/ranks.h"
#include "tests/support/temporary_directory.h"

namespace casync::test {

/// A plan in a file of its own, for as long as this lives.
class PlanFile {
 public:
  /// `text`: the plan without its version.
  explicit PlanFile(const std::string& text) : path_(directory_.path() + "/plan.txtpb") {
    std::ofstream(path_) << "version: 1 " << text << "\n";
  }
  const std::string& path() const { return path_; }

 private:
  TemporaryDirectory directory_ = TemporaryDirectory::in_memory();
  std::string path_;
};

/// For with_sessions(): sessions by the plan, which has to live as long.
inline std::function<void(runtime::SessionOptions&)> by(const PlanFile& plan) {
  return [&plan](runtime::SessionOptions& options) { options.plan_file = plan.path(); };
}

using Body = std::function<std::string(runtime::Session&, RankContext&)>;

/// with_sessions() by a plan without its version.
inline std::string with_plan(int ranks, const std::string& text, const Body& body,
                             const std::string& transport = "loopback",
                             runtime::ReduceOp op = runtime::ReduceOp::kAverage) {
  const PlanFile plan(text);
  return with_sessions(
      ranks,
      [&](runtime::SessionOptions& options) {
        options.plan_file = plan.path();
        options.op = op;
      },
      body, transport);
}

}  // namespace casync::test
