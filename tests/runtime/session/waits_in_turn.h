// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/session/session.h"
#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/plan_file.h"
#include "tests/support/ranks.h"

namespace casync::test {

/// Each rank submits its gradients in an order of its own, and waits for one, then submits the next; rank 0 submits
/// all first. `plan`: without its version. Returns "" if all results are right.
inline std::string wait_in_turn(const std::string& plan, Elements elements, const std::string& transport) {
  return with_plan(
      2, plan,
      [&](Session& session, RankContext& context) -> std::string {
        constexpr int kGradients = 4;
        std::vector<GradientId> ids;
        for (int i = 0; i < kGradients; ++i) {
          const Result<GradientId> id = declare(session, "g" + std::to_string(i), elements);
          if (!id) return id.status().text();
          ids.push_back(*id);
        }
        for (unsigned step = 0; step < 3; ++step) {
          std::vector<std::vector<float>> values;
          std::vector<Handle> handles(kGradients);
          const auto submit = [&](std::size_t i) {
            const Submission one{ids[i], view_of(values[i])};
            return session.submit({&one, 1}, {&handles[i], 1});
          };
          for (unsigned i = 0; i < kGradients; ++i) {
            values.push_back(contribution(context.rank, elements, 10 * step + i));
            const Status status = context.rank == 0 ? submit(i) : Status::ok();
            if (!status) return status.text();
          }
          for (std::size_t i = kGradients; i-- > 0;) {  // the last one first
            if (context.rank == 1) {
              if (const Status status = submit(i); !status) return status.text();
            }
            if (const Status status = session.wait(handles[i], -1); !status) return status.text();
            if (values[i] != average(2, elements, 10 * step + static_cast<unsigned>(i))) return "not the mean";
          }
          if (const Result<StepResult> done = session.step(); !done) return done.status().text();
        }
        return "";
      },
      transport);
}

}  // namespace casync::test
