// Arithmetic in the prime field of p = 2^61 - 1 elements.
//
// Polynomial identities between covariances are decided by evaluating them at a random point of
// this field: a polynomial of degree k that is not zero vanishes there with probability at most k/p
// (Schwartz-Zippel), and unlike in floating point there are no rounding errors. p is a
// Mersenne prime, so that a 122-bit product is reduced by one shift and one addition.
#pragma once

#include <cstdint>
#include <utility>

#include "equivalence/wide.hpp"
#include "rng.hpp"
#include "stop.hpp"

namespace bowfree::field {

/// An element of the field, always reduced to 0..p-1.
using Element = std::uint64_t;

inline constexpr Element prime = (Element{1} << 61) - 1;

inline Element negate(Element a) { return a == 0 ? 0 : prime - a; }

/// 2^61 = 1 in this field, so the high part of a product is simply added to the low part.
template <class Number>
Element reduce(Number z) {
    const Element folded = static_cast<Element>(z & prime) + static_cast<Element>(z >> 61);
    return folded >= prime ? folded - prime : folded;
}

/// The same for a sum of products, which may have more than 122 bits and is folded twice.
template <class Number>
Element reduce_sum(Number z) {
    return reduce((z & prime) + (z >> 61));
}

inline Element multiply(Element a, Element b) { return reduce(product(a, b)); }

/// 1 / a, by Fermat: a^(p - 2). All bits of p - 2 are ones but the second.
inline Element inverse(Element a) {
    Element power = a, result = a;
    for (int bit = 1; bit < 61; ++bit) {
        power = multiply(power, power);
        if (bit != 1) result = multiply(result, power);
    }
    return result;
}

/// A sum of products that is reduced once: each product has 122 bits, so 32 of them (and one
/// carried element) fit into 128 bits.
template <class Number>
class SumOfProducts {
  public:
    SumOfProducts() = default;
    explicit SumOfProducts(Element first) : total_(first) {}

    void add(Element a, Element b) {
        total_ += product<Number>(a, b);
        if (++terms_ == 32) {
            total_ = value();
            terms_ = 0;
        }
    }
    Element value() const { return reduce_sum(total_); }

  private:
    Number total_ = 0;
    int terms_ = 0;
};
using Sum = SumOfProducts<Wide>;

/// Uniform non-zero elements from a seed (SplitMix64, top 61 bits, rejection).
class Draw {
  public:
    explicit Draw(std::uint64_t seed) : state_(seed) {}

    Element operator()() {
        for (;;) {
            const Element x = scatter(state_ += 0x9e3779b97f4a7c15u) >> 3;
            if (x != 0 && x < prime) return x;
        }
    }

  private:
    std::uint64_t state_;
};

/// With fewer nodes or unknowns a step takes microseconds, and the caller checks for a stop between
/// steps.
inline constexpr int long_work = 64;

/// Solves `M x = 0` for the k x (k + 1) row-major matrix `M` (overwritten) with `x[k] != 0`.
/// Returns false when the leading k x k block is singular. There are no divisions: rows and the
/// solution are computed up to a factor, which is enough for a test for zero.
inline bool null_vector(Element* M, int k, Element* x, const Stop& stop) {
    const int columns = k + 1;
    for (int c = 0; c < k; ++c) {
        if (k >= long_work) stop.check();
        int pivot = c;
        while (pivot < k && M[pivot * columns + c] == 0) ++pivot;
        if (pivot == k) return false;
        if (pivot != c)
            for (int j = c; j < columns; ++j) std::swap(M[c * columns + j], M[pivot * columns + j]);
        const Element* top = M + c * columns;
        for (int i = c + 1; i < k; ++i) {
            Element* row = M + i * columns;
            if (row[c] == 0) continue;
            const Element factor = negate(row[c]);
            for (int j = c + 1; j < columns; ++j)
                row[j] = reduce_sum(product(row[j], top[c]) + product(top[j], factor));
        }
    }
    x[k] = 1;
    for (int i = k - 1; i >= 0; --i) {
        const Element* row = M + i * columns;
        Sum sum;
        for (int j = i + 1; j <= k; ++j) sum.add(row[j], x[j]);
        x[i] = negate(sum.value());
        for (int j = i + 1; j <= k; ++j) x[j] = multiply(x[j], row[i]);
    }
    return true;
}

}  // namespace bowfree::field
