// Long calls: without the GIL, interruptible by Ctrl-C and time limits. Used by the bindings only.
//
// The work runs on the calling thread, with a polling `Stop` (stop.hpp): now and then it takes the
// GIL and lets Python handle signals, and a KeyboardInterrupt propagates through the kernels to the
// caller. Short calls pay nothing for this. Work on several threads goes through `run_jobs`, where
// the calling thread waits and polls the same `Stop`.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <utility>

#include "stop.hpp"

namespace bowfree::bindings {

namespace nb = nanobind;

/// Lets Python handle pending signals; throws the exceptions of their handlers.
inline void handle_signals() {
    const nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// Returns `work(stop)`, with the GIL released. A `Stopped` that it throws means that the time
/// limit was reached before there was a result, and becomes an error of the package (module.cpp).
/// `on_progress`, if not None, is called now and then with the number of results so far.
template <class Work>
auto interruptibly(std::optional<double> seconds, const nb::object& on_progress, Work&& work) {
    const auto callback = [&on_progress](std::uint64_t n_results) {
        handle_signals();
        const nb::gil_scoped_acquire held;
        if (!on_progress.is_none()) on_progress(n_results);
    };
    const Stop stop(callback, deadline_in(seconds));
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

/// A `Stop` for the first of several results, with a short grace period beyond the time limit:
/// without a first result there is nothing to return.
inline Stop with_grace(std::optional<double> seconds) {
    constexpr double grace = 0.1;
    if (seconds) *seconds += grace;
    return Stop([](std::uint64_t) { handle_signals(); }, deadline_in(seconds));
}

}  // namespace bowfree::bindings
