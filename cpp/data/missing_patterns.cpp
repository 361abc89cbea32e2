#include "data/missing_patterns.hpp"

#include <cmath>

#include "dense.hpp"

namespace bowfree {

PatternTerms pattern_terms(const double* Sigma, std::size_t d, std::size_t n_patterns,
                           const std::uint8_t* observed, const double* z, const double* scatter,
                           const Stop& stop) {
    PatternTerms terms{std::vector<double>(n_patterns * d * d),
                       std::vector<double>(n_patterns * d * d), std::vector<double>(n_patterns * d),
                       std::vector<double>(n_patterns), std::vector<double>(n_patterns)};
    std::vector<std::size_t> at;
    std::vector<double> L, W, T, WT, own;
    for (std::size_t p = 0; p < n_patterns; ++p) {
        stop.check();
        at.clear();
        for (std::size_t i = 0; i < d; ++i)
            if (observed[p * d + i]) at.push_back(i);
        const std::size_t k = at.size();
        const int size = static_cast<int>(k);
        L.assign(k * k, 0.0);
        W.assign(k * k, 0.0);
        T.assign(k * k, 0.0);
        WT.assign(k * k, 0.0);
        own.assign(k, 0.0);
        for (std::size_t i = 0; i < k; ++i) {
            own[i] = z[p * d + at[i]];
            W[i * k + i] = 1.0;
            for (std::size_t j = 0; j < k; ++j) {
                L[i * k + j] = Sigma[at[i] * d + at[j]];
                T[i * k + j] = scatter[(p * d + at[i]) * d + at[j]] + own[i] * z[p * d + at[j]];
            }
        }
        if (cholesky(L.data(), size, &stop) < size) {
            terms.log_det[p] = infinity;
            continue;
        }
        solve_factored(L.data(), size, W.data(), size);
        double log_det = 0.0, trace = 0.0;
        for (std::size_t i = 0; i < k; ++i) {
            log_det += 2.0 * std::log(L[i * k + i]);
            for (std::size_t j = 0; j < i; ++j) W[j * k + i] = W[i * k + j];
        }
        for (std::size_t i = 0; i < k; ++i) {
            trace += dot(&W[i * k], &T[i * k], size);
            terms.Wz[p * d + at[i]] = dot(&W[i * k], own.data(), size);
            for (std::size_t j = 0; j < k; ++j) WT[i * k + j] = dot(&W[i * k], &T[j * k], size);
        }
        for (std::size_t i = 0; i < k; ++i)
            for (std::size_t j = 0; j <= i; ++j) {
                const std::size_t here = (p * d + at[i]) * d + at[j];
                const std::size_t mirrored = (p * d + at[j]) * d + at[i];
                terms.W[here] = terms.W[mirrored] = W[i * k + j];
                terms.WTW[here] = terms.WTW[mirrored] = dot(&WT[i * k], &W[j * k], size);
            }
        terms.log_det[p] = log_det;
        terms.trace[p] = trace;
    }
    return terms;
}

}  // namespace bowfree
