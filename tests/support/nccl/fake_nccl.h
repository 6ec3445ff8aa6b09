// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "compll/cuda/driver_api.h"

namespace casync::test::fake_nccl {

/// A library in NCCL's place: ranks are threads of this process, and their devices an emulated driver's. Messages and
/// all-reduces run in the streams they are called with, in their order, and match as NCCL's do: the k-th send of one
/// rank to another is the k-th recv there. Ranks that differ in order, size or peer wait for each other until they
/// abort. Stricter than the true one: a call without the device's context, one on a communicator whose last call has
/// not come to its end or that has been finalized, and a type or an operator that NcclApi does not name, are errors.

/// The driver whose streams and memory are meant. Called ahead of anything else.
void use(const compll::DriverApi& driver);
/// As from the beginning: nothing injected, version 2.30.7.
void reset();
void set_version(int version);
/// Communicators are not ready, even if all their ranks have come, until this is called with false.
void hold_inits(bool hold);
/// The next call of this function returns `code`, by the name that the library exports it by.
void refuse(std::string_view function, int code);
/// This rank's communicators fail with `code` from now on, as NCCL reports it when it notices something by itself.
void fail(int rank, int code);
/// The number of calls that run in a stream and wait for other ranks.
int waiting();
/// Calls of a function since the process began.
std::uint64_t calls(std::string_view function);

}  // namespace casync::test::fake_nccl
