#include "model/canonical_order.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace bowfree {

// Keys with a smaller relative difference are tied: far above the rounding error of a sum of
// squares, far below the differences between variables of a sample.
constexpr double tie = 1e-9;

void CanonicalOrder::compute(const District& given, const double* correlations) {
    const int k = given.k, m = given.m();
    key_.assign(m, 0.0);
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < i; ++j) {
            const double square = correlations[i * m + j] * correlations[i * m + j];
            key_[i] += square;
            key_[j] += square;
        }
    order_.resize(m);
    for (int i = 0; i < m; ++i) order_[i] = i;
    sort(k);
    for (int before = m, tied = n_tied(k); 0 < tied && tied < before; tied = n_tied(k)) {
        before = tied;
        refine(given, correlations);
        sort(k);
    }
    arrange(given);
}

/// Sorts the members and the parents outside by their keys. NaN comes last: without this rule it
/// would be equivalent to every number, and the comparison no strict weak order.
void CanonicalOrder::sort(int k) {
    const auto smaller = [&](int a, int b) {
        return key_[a] < key_[b] || (std::isnan(key_[b]) && !std::isnan(key_[a]));
    };
    std::sort(order_.begin(), order_.begin() + k, smaller);
    std::sort(order_.begin() + k, order_.end(), smaller);
}

/// The number of adjacent variables in the order that are tied.
int CanonicalOrder::n_tied(int k) const {
    int tied = 0;
    for (int i = 1; i < static_cast<int>(order_.size()); ++i)
        tied += i != k && key_[order_[i]] - key_[order_[i - 1]] <= tie * key_[order_[i]];
    return tied;
}

/// Adds to each key a function of the keys of the others, with a weight for each kind of edge:
/// different neighborhoods give different sums, except by coincidence.
void CanonicalOrder::refine(const District& given, const double* correlations) {
    const int m = given.m();
    const double to_parent = std::numbers::sqrt2, to_child = std::numbers::sqrt3,
                 to_spouse = std::numbers::phi, by_correlation = std::numbers::egamma;
    finer_ = key_;
    const auto signal = [&](int i) { return std::sqrt(1.0 + key_[i]); };
    for (int v = 0; v < given.k; ++v)
        for (const int p : given.parents[v]) {
            finer_[v] += to_parent * signal(p);
            finer_[p] += to_child * signal(v);
        }
    for (const auto& [a, b] : given.spouse_pairs) {
        finer_[a] += to_spouse * signal(b);
        finer_[b] += to_spouse * signal(a);
    }
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < m; ++j)
            if (i != j) finer_[i] += by_correlation * std::abs(correlations[i * m + j]) * signal(j);
    key_.swap(finer_);
}

/// Rewrites the district in the new order.
void CanonicalOrder::arrange(const District& given) {
    const int k = given.k, m = given.m();
    district_.k = k;
    district_.nodes.resize(m);
    position_.resize(m);
    for (int i = 0; i < m; ++i) {
        district_.nodes[i] = given.nodes[order_[i]];
        position_[order_[i]] = i;
    }
    district_.parents.resize(k);
    for (int v = 0; v < k; ++v) {
        std::vector<int>& row = district_.parents[v];
        row.clear();
        for (const int p : given.parents[order_[v]]) row.push_back(position_[p]);
        std::ranges::sort(row);
    }
    district_.spouse_pairs.clear();
    for (const auto& [a, b] : given.spouse_pairs)
        district_.spouse_pairs.push_back(std::minmax({position_[a], position_[b]}));
    std::ranges::sort(district_.spouse_pairs);
}

}  // namespace bowfree
