// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/codec/declaration.h"

namespace casync::compll {

/// The identity: the payload is the elements themselves.
Declaration declare_none();

}  // namespace casync::compll
