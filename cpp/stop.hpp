// How long work is told to end where it is: by Ctrl-C, by a time limit, by a failure elsewhere.
//
// One `Stop` per piece of work. Kernels ask it often enough that no more than a few hundredths of a
// second pass, and throw `Stopped`, because half a fit has no value. Whoever can hand over what is
// complete so far catches it. There are two kinds:
//
//   - raised from outside: work on other threads, while the caller's thread waits (threads.hpp);
//   - looking for itself: work on the caller's own thread. While it is asked, it looks at the clock
//     and, every `look_every`, calls back. A short call never gets that far and pays nothing; to
//     start a thread for it would cost more than many of them take.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace bowfree {

/// Thrown out of the middle of a computation whose result nobody waits for any more.
struct Stopped {};

using Clock = std::chrono::steady_clock;

/// The time in so many seconds, as far as the clock reaches; none without seconds.
inline Clock::time_point deadline_in(std::optional<double> seconds) {
    constexpr auto never = Clock::time_point::max();
    if (!seconds) return never;
    const auto now = Clock::now();
    // Half of what is left: the conversion to whole ticks must not round beyond the end.
    const double reach = 0.5 * std::chrono::duration<double>(never - now).count();
    if (!(*seconds < reach)) return never;
    return now +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*seconds));
}

class Stop {
  public:
    /// Is told how much has been found, see `found_one`.
    using Look = std::function<void(std::uint64_t)>;

    /// Raised by `request` only; any number of threads may ask it.
    Stop() = default;
    /// Looks for itself: for the one thread that made it. `look` may throw, which ends the work as
    /// a whole; the deadline ends it with `Stopped`.
    explicit Stop(Look look, Clock::time_point deadline = Clock::time_point::max())
        : look_(std::move(look)), deadline_(deadline) {}

    void request() { requested_.store(true, std::memory_order_relaxed); }

    bool requested() const {
        if (look_ && --asks_left_ <= 0) glance();
        return requested_.load(std::memory_order_relaxed);
    }

    /// The same for a thread that asks seldom, because it sleeps in between.
    bool requested_by_now() const {
        if (look_) glance();
        return requested_.load(std::memory_order_relaxed);
    }

    /// Counts one more of what the work is about, for whoever looks: nobody does where several
    /// threads ask.
    void found_one() const {
        if (look_) ++found_;
    }

    /// Ends the computation here if that was requested.
    void check() const {
        if (requested()) throw Stopped{};
    }

  private:
    static constexpr auto look_every = std::chrono::milliseconds(50);
    /// Reading the clock costs as much as a small kernel's unit of work, so that while units are
    /// short it is read once in so many.
    static constexpr int asks_per_glance = 16;
    static constexpr auto short_glances = std::chrono::milliseconds(1);

    void glance() const {
        const auto now = Clock::now();
        asks_left_ = now - glanced_ < short_glances ? asks_per_glance : 1;
        glanced_ = now;
        if (now >= deadline_) requested_.store(true, std::memory_order_relaxed);
        if (looked_ == Clock::time_point::min()) looked_ = now;  // the first glance: not yet time
        if (now < looked_ + look_every) return;
        looked_ = now;
        look_(found_);
    }

    mutable std::atomic<bool> requested_{false};
    Look look_;
    mutable std::uint64_t found_ = 0;
    Clock::time_point deadline_ = Clock::time_point::max();
    mutable int asks_left_ = asks_per_glance;
    mutable Clock::time_point glanced_{}, looked_ = Clock::time_point::min();
};

}  // namespace bowfree
