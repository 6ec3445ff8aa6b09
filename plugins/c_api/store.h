// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugins/c_api/casync.h"
#include "runtime/control/rendezvous/store.h"

namespace casync::c_api {

/// The program's own store as the session takes it. Unavailable: it did not take a value, or says that it has failed.
/// Timeout: it gave none. Internal: a value that changes its length, or of over 1 MiB.
runtime::StoreFunctions store_functions(casync_store_set set, casync_store_get get, void* user);

}  // namespace casync::c_api
