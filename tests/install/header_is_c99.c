/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/c_api/casync.h"

/* The numbers are part of the interface: whoever wraps it in another language has written them down. */
typedef char abi_version_is_1[CASYNC_ABI_VERSION == 1 ? 1 : -1];
typedef char timeout_is_4[CASYNC_TIMEOUT == 4 ? 1 : -1];
typedef char float32_is_1[CASYNC_FLOAT32 == 1 ? 1 : -1];
