// SPDX-License-Identifier: Apache-2.0
#pragma once

/// CASYNC_ASAN, CASYNC_TSAN: 1 in a build under the address or the thread sanitizer, else 0; CASYNC_SANITIZED: one of
/// the two. GCC defines a macro for each, and clang has a feature.
#ifdef __has_feature
#define CASYNC_HAS_FEATURE(name) __has_feature(name)
#else
#define CASYNC_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || CASYNC_HAS_FEATURE(address_sanitizer)
#define CASYNC_ASAN 1
#else
#define CASYNC_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__) || CASYNC_HAS_FEATURE(thread_sanitizer)
#define CASYNC_TSAN 1
#else
#define CASYNC_TSAN 0
#endif
#define CASYNC_SANITIZED (CASYNC_ASAN || CASYNC_TSAN)
