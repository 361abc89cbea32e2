// Long calls: without the GIL, and obedient to Ctrl-C and time limits. Used by the bindings only.
//
// The work runs on the calling thread, with a `Stop` that looks for itself (stop.hpp): now and then
// it takes the GIL and lets Python handle signals, and a KeyboardInterrupt flies from there through
// the kernels to the caller. Short calls pay nothing for this. Work on several threads goes through
// `run_jobs`, where the calling thread waits and asks the same `Stop`.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <utility>

#include "stop.hpp"

namespace bowfree::bindings {

namespace nb = nanobind;

/// Lets Python handle signals that have arrived; throws what their handlers raise.
inline void handle_signals() {
    const nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// Returns `work(stop)`, the GIL being released. A `Stopped` that comes out of it means that time
/// was up before there was anything to return, and becomes an error of the package (module.cpp).
/// `tell`, if not None, is called now and then with how much has been found.
template <class Work>
auto interruptibly(std::optional<double> seconds, const nb::object& tell, Work&& work) {
    const auto look = [&tell](std::uint64_t found) {
        handle_signals();
        const nb::gil_scoped_acquire held;
        if (!tell.is_none()) tell(found);
    };
    const Stop stop(look, deadline_in(seconds));
    const nb::gil_scoped_release released;
    return std::forward<Work>(work)(stop);
}

template <class Work>
auto interruptibly(std::optional<double> seconds, Work&& work) {
    return interruptibly(seconds, nb::none(), std::forward<Work>(work));
}

template <class Work>
auto interruptibly(Work&& work) {
    return interruptibly(std::nullopt, std::forward<Work>(work));
}

/// What to ask before the first of many is there, without which there is nothing to return: it is
/// waited for a little beyond the time limit.
inline Stop patient(std::optional<double> seconds) {
    constexpr double grace = 0.1;
    if (seconds) *seconds += grace;
    return Stop([](std::uint64_t) { handle_signals(); }, deadline_in(seconds));
}

}  // namespace bowfree::bindings
