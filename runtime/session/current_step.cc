// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/current_step.h"

#include <fmt/format.h>

#include "runtime/session/declarations.h"

namespace casync::runtime {

Exchanged CurrentStep::ask() const {
  asked_ = true;
  return exchanged();
}

Status CurrentStep::check_exchange() const {
  if (exchanged() == Exchanged::kNothing) return exchanges_nothing(mode_, number_);
  if (asked_ || exchanged() != Exchanged::kParameters) return Status::ok();
  return invalid_argument(
      fmt::format("step {} exchanges parameters by the plan's gossip, and this program has not asked what it "
                  "exchanges, so what it "
                  "submits may be gradients: leave `gossip` out of the plan",
                  number_));
}

void CurrentStep::submitted(Clock::time_point now) {
  together_ = false;
  if (!has_submissions()) first_submitted_ = now;
  last_submitted_ = now;
}

void CurrentStep::end(Clock::time_point now) {
  if (consensus_ && has_submissions()) together_ = true;
  first_submitted_ = {};
  begun_ = now;
  ++number_;
  consensus_ = asked_ = false;
}

void CurrentStep::go_to(std::uint32_t step) {
  first_submitted_ = {};
  number_ = step;
  consensus_ = asked_ = false;
  together_ = true;
}

}  // namespace casync::runtime
