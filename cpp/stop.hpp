// How long work is told to end where it is: by Ctrl-C, by a time limit, by a failure elsewhere.
//
// One flag per piece of work. Whoever waits for the work raises it; kernels look at it often enough
// that no more than a few hundredths of a second pass, and throw `Stopped`, because half a fit has
// no value. Whoever can hand over what is complete so far catches it.
#pragma once

#include <atomic>

namespace bowfree {

/// Thrown out of the middle of a computation whose result nobody waits for any more.
struct Stopped {};

class Stop {
  public:
    void request() { requested_.store(true, std::memory_order_relaxed); }
    bool requested() const { return requested_.load(std::memory_order_relaxed); }

    /// Ends the computation here if that was requested.
    void check() const {
        if (requested()) throw Stopped{};
    }

  private:
    std::atomic<bool> requested_{false};
};

}  // namespace bowfree
