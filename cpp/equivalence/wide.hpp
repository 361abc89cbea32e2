// Unsigned numbers of 128 bits, which C++ does not have: the compiler's own where there are some,
// else two words. Both are always compiled, so that the tests can compare them.
#pragma once

#include <cstdint>

#if defined(_MSC_VER) && defined(_M_X64)
#include <intrin.h>
#endif

namespace bowfree {

/// Two words with the few operations that the field needs.
class TwoWords {
  public:
    // NOLINTNEXTLINE(*-explicit-constructor): words are numbers of 128 bits
    constexpr TwoWords(std::uint64_t low = 0) : low_(low) {}

    static TwoWords product(std::uint64_t a, std::uint64_t b) {
        TwoWords z;
#if defined(_MSC_VER) && defined(_M_X64)
        z.low_ = _umul128(a, b, &z.high_);
#else
        // By halves of 32 bits: (a1 2^32 + a0)(b1 2^32 + b0). No sum below can overflow.
        constexpr std::uint64_t half = 0xffffffffu;
        const std::uint64_t a0 = a & half, a1 = a >> 32, b0 = b & half, b1 = b >> 32;
        const std::uint64_t low = a0 * b0;
        const std::uint64_t cross = a1 * b0 + (low >> 32);
        const std::uint64_t carry = a0 * b1 + (cross & half);
        z.low_ = carry << 32 | (low & half);
        z.high_ = a1 * b1 + (cross >> 32) + (carry >> 32);
#endif
        return z;
    }

    TwoWords& operator+=(const TwoWords& other) {
        low_ += other.low_;
        high_ += other.high_ + (low_ < other.low_);
        return *this;
    }
    friend TwoWords operator+(TwoWords a, const TwoWords& b) { return a += b; }
    friend TwoWords operator&(const TwoWords& a, std::uint64_t mask) { return a.low_ & mask; }
    /// For 0 < shift < 64.
    friend TwoWords operator>>(const TwoWords& a, int shift) {
        TwoWords z(a.low_ >> shift | a.high_ << (64 - shift));
        z.high_ = a.high_ >> shift;
        return z;
    }
    explicit operator std::uint64_t() const { return low_; }

  private:
    std::uint64_t low_ = 0, high_ = 0;
};

#ifdef __SIZEOF_INT128__
__extension__ using Wide = unsigned __int128;
#else
using Wide = TwoWords;
#endif

/// The whole product of two words.
template <class Number = Wide>
Number product(std::uint64_t a, std::uint64_t b) {
    if constexpr (requires { Number::product(a, b); })
        return Number::product(a, b);
    else
        return static_cast<Number>(a) * b;
}

}  // namespace bowfree
