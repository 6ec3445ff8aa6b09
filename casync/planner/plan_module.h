// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"
#include "casync/model/plan.h"
#include "casync/simulator/profile.h"
#include "casync/simulator/training.h"

namespace casync {

/// The export of libcasync_planio.so: parse_plan with one C name, so that nothing of Protocol Buffers is visible
/// from outside. `plan_bytes` is the caller's sizeof(Plan): module and caller must be of one build. Exactly one
/// of `plan` and `status` is meaningful afterwards; throws nothing.
using PlanReader = void(const char* text, std::size_t size, const char* source, std::size_t plan_bytes, Plan* plan,
                        Status* status);

/// The same for profiles and model descriptions.
using ProfileReader = void(const char* text, std::size_t size, const char* source, std::size_t profile_bytes,
                           Profile* profile, Status* status);
using ModelReader = void(const char* text, std::size_t size, const char* source, std::size_t training_bytes,
                         Training* training, Status* status);

/// The other way: plan_text of a plan.
using PlanWriter = void(const Plan* plan, std::size_t plan_bytes, std::string* text, Status* status);
using ProfileWriter = void(const Profile* profile, std::size_t profile_bytes, std::string* text, Status* status);

using ModelWriter = void(const Training* training, std::size_t training_bytes, std::string* text, Status* status);

constexpr const char* kPlanModule = "libcasync_planio.so";
constexpr const char* kPlanReader = "casync_planio_read";
constexpr const char* kProfileReader = "casync_planio_read_profile";
constexpr const char* kPlanWriter = "casync_planio_write";
constexpr const char* kProfileWriter = "casync_planio_write_profile";
constexpr const char* kModelReader = "casync_planio_read_model";
constexpr const char* kModelWriter = "casync_planio_write_model";

}  // namespace casync
