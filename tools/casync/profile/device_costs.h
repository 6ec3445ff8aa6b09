// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "tools/casync/profile/measure.h"

namespace casync::tools {

/// Measures options.device: its memory, a launch, copies to the host and from it, and the codecs as sessions run them
/// there, each alone on an idle device. Call without threads of other devices' work under way.
/// Errors as runtime::open_device and Device::kernels. Unimplemented: a codec with coded sections, which the host codes
/// there. Unavailable: no memory on the device, or it failed.
Status add_device_costs(const ProfileOptions& options, MeasuredProfile& made);

}  // namespace casync::tools
