// SPDX-License-Identifier: Apache-2.0
//
// Streams and events of the emulated driver: a stream is a thread with a queue. Handles are pointers to them.
#pragma once

#include <functional>

#include "compll/cuda/driver_api.h"

namespace casync::compll::emulated {

inline constexpr DriverApi::Code kInvalidValue = 1, kNoContext = 201, kInvalidHandle = 400, kIllegalAccess = 700;
inline constexpr DriverApi::Code kNotPermitted = 800, kCaptureUnsupported = 900;

/// The error that every call returns from now on. Streams forget what is queued. 0: none, once no stream runs anything
/// that it began earlier.
void set_error(DriverApi::Code code);
DriverApi::Code error();

/// Streams begin nothing new until they are released: what a program does meanwhile does not wait for them.
void hold_streams();
void release_streams();

DriverApi::Handle make_stream(int device);
/// Returns at once: what is queued runs all the same.
void end_stream(DriverApi::Handle stream);
/// Queues `work`. kInvalidHandle: the default stream, or one of another device. kCaptureUnsupported: it is captured,
/// which ends the capture: the work would be the graph's.
DriverApi::Code enqueue(DriverApi::Handle stream, int device, std::function<void()> work);
DriverApi::Code wait_for(DriverApi::Handle stream);

/// A program captures a stream into a graph. Nothing is queued there meanwhile.
void begin_capture(DriverApi::Handle stream);
/// Returns false if a call has ended the capture.
bool end_capture(DriverApi::Handle stream);
/// `status`: DriverApi::kCaptureNone, or another number. kInvalidHandle: the default stream.
DriverApi::Code is_capturing(DriverApi::Handle stream, int* status);
/// Sets the mode of the calling thread, and `mode` to the one that it had.
DriverApi::Code exchange_capture_mode(int* mode);
/// kCaptureUnsupported: some stream is captured, and the calling thread's mode is not the relaxed one. Ends all
/// captures then, as a call that may wait does.
DriverApi::Code end_captures();

/// The time that events take note of, in milliseconds: the host's, or from the first set_time() on what was set last.
void set_time(double milliseconds);
void take_host_time();

DriverApi::Handle make_event(int device, bool timed);
void end_event(DriverApi::Handle event);
DriverApi::Code record(DriverApi::Handle event, DriverApi::Handle stream, int device);
DriverApi::Code query(DriverApi::Handle event);
/// kInvalidHandle: one of them has no time, or was never recorded.
DriverApi::Code milliseconds_between(float* milliseconds, DriverApi::Handle begin, DriverApi::Handle end);
/// The stream goes on once what the event last recorded is over; an event that was never recorded holds nothing up.
DriverApi::Code wait_in(DriverApi::Handle stream, DriverApi::Handle event, int device);

}  // namespace casync::compll::emulated
