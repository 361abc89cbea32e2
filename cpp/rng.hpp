// Random numbers: seeded, the same on every machine.
//
// A generator is made from (seed, stream). Every unit of work that may run on another thread gets a
// stream of its own, so its draws depend on its index alone, not on the thread or the time.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace bowfree {

/// The finalizer of SplitMix64: a bijection of 64-bit words that scatters every bit.
inline std::uint64_t scatter(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/// xoshiro256** (Blackman and Vigna), filled by SplitMix64.
class Rng {
  public:
    explicit Rng(std::uint64_t seed, std::uint64_t stream = 0) {
        std::uint64_t x = scatter(seed) ^ scatter(~stream);
        for (auto& word : state_) word = scatter(x += 0x9e3779b97f4a7c15u);
    }

    std::uint64_t next() {
        const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
        const std::uint64_t shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = std::rotl(state_[3], 45);
        return result;
    }

    /// Uniform on 0..n-1, n >= 1, without bias (Lemire's multiplication with rejection).
    int below(int n) {
        const auto range = static_cast<std::uint32_t>(n);
        std::uint64_t product = (next() >> 32) * range;
        if (static_cast<std::uint32_t>(product) < range) {
            const std::uint32_t biased = (0u - range) % range;
            while (static_cast<std::uint32_t>(product) < biased) product = (next() >> 32) * range;
        }
        return static_cast<int>(product >> 32);
    }

    /// Uniform on [0, 1); the distributions of the standard library differ between platforms. Twice
    /// the value less one is uniform on [-1, 1), without rounding.
    double uniform() { return 0x1p-53 * static_cast<double>(next() >> 11); }

    bool coin() { return next() >> 63; }

    /// The complete state: a generator made from it continues the stream. No stream has zero in all
    /// four words.
    using State = std::array<std::uint64_t, 4>;
    explicit Rng(const State& state) : state_(state) {}
    const State& state() const { return state_; }

  private:
    State state_;
};

}  // namespace bowfree
