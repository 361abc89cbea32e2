// Cancellation of long computations: by Ctrl-C, by a time limit, or by a failure elsewhere.
//
// Kernels call `check` often enough that a few hundredths of a second pass at most between two
// calls, and throw `Stopped`, because half a fit has no value. Callers that can return partial
// results catch it. There are two kinds of `Stop`:
//
//   - a flag, raised by `request` from any thread: for work on other threads while the caller's
//     thread waits (threads.hpp);
//   - polling: for work on the thread that made it. `check` reads the clock now and then and calls
//     a callback every `callback_interval`. A short computation never gets that far and pays nothing;
//     a watching thread would cost more than many calls take.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

namespace bowfree {

/// Thrown inside a computation that was cancelled.
struct Stopped {};

using Clock = std::chrono::steady_clock;

/// The time `seconds` from now, or the end of time without a value or when the clock does not reach
/// so far.
inline Clock::time_point deadline_in(std::optional<double> seconds) {
    constexpr auto never = Clock::time_point::max();
    if (!seconds) return never;
    const auto now = Clock::now();
    // Half of the remaining range: the conversion to whole ticks must not round beyond the end.
    const double reach = 0.5 * std::chrono::duration<double>(never - now).count();
    if (!(*seconds < reach)) return never;
    return now +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*seconds));
}

/// Any thread may call `request`, `requested` and `check`. Polling happens on the thread that made
/// the object only; on others a polling `Stop` is a flag.
class Stop {
  public:
    /// Called with the number of results so far, see `count_result`.
    using Callback = std::function<void(std::uint64_t)>;

    /// A flag.
    Stop() = default;
    /// Polling. The callback may throw, which ends the computation; the deadline ends it with
    /// `Stopped`.
    explicit Stop(Callback callback, Clock::time_point deadline = Clock::time_point::max())
        : callback_(std::move(callback)), deadline_(deadline) {}

    void request() { requested_.store(true, std::memory_order_relaxed); }

    bool requested() const {
        if (polls() && --calls_until_poll_ <= 0) poll();
        return requested_.load(std::memory_order_relaxed);
    }

    /// Like `requested`, but polls at once: for a thread that calls it rarely.
    bool requested_now() const {
        if (polls()) poll();
        return requested_.load(std::memory_order_relaxed);
    }

    /// Counts one result of the computation, for the callback.
    void count_result() const {
        if (polls()) ++n_results_;
    }

    /// Throws `Stopped` when a stop is requested.
    void check() const {
        if (requested()) throw Stopped{};
    }

  private:
    static constexpr auto callback_interval = std::chrono::milliseconds(50);
    /// Reading the clock costs as much as a unit of work of a small kernel, so while calls come in
    /// quick succession it is read once in `calls_per_poll`.
    static constexpr int calls_per_poll = 16;
    static constexpr auto quick_succession = std::chrono::milliseconds(1);

    /// Only the owner touches the mutable members below, so they need no lock.
    bool polls() const { return callback_ && std::this_thread::get_id() == owner_; }

    void poll() const {
        const auto now = Clock::now();
        calls_until_poll_ = now - last_poll_ < quick_succession ? calls_per_poll : 1;
        last_poll_ = now;
        if (now >= deadline_) requested_.store(true, std::memory_order_relaxed);
        if (last_callback_ == Clock::time_point::min()) last_callback_ = now;  // the first poll
        if (now < last_callback_ + callback_interval) return;
        last_callback_ = now;
        callback_(n_results_);
    }

    mutable std::atomic<bool> requested_{false};
    Callback callback_;
    Clock::time_point deadline_ = Clock::time_point::max();
    std::thread::id owner_ = std::this_thread::get_id();
    mutable std::uint64_t n_results_ = 0;
    mutable int calls_until_poll_ = calls_per_poll;
    mutable Clock::time_point last_poll_{}, last_callback_ = Clock::time_point::min();
};

}  // namespace bowfree
