#include "search/screen.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "dense.hpp"

namespace bowfree {

// A new regressor with a smaller share of its variance left is a combination of the others.
constexpr double least_share = 1e-10;

// An error is nearly determined by others if they leave less than 1 / `most_inflation` of its
// variance. Chosen by hand: up to here the true gain was below twice the bound at the ends of three
// climbs.
constexpr double most_inflation = 4.0;

Screen::Screen(const Scorer& scorer, Workspace& workspace)
    : workspace_(workspace),
      S_(scorer.data().conditions.front().S.data()),
      d_(scorer.d()),
      rows_(scorer.d()) {}

const Screen::Row& Screen::row(const Graph& graph, int node) {
    if (!rows_[node].known) fit_district(graph, node);
    return rows_[node];
}

void Screen::fit_district(const Graph& graph, int node) {
    const District district = make_district(graph, district_of(graph, node));
    const DistrictFit fit = workspace_.fitter.fit(district, estimates_only);
    workspace_.count(workspace_.fitter.work());
    const int k = district.k, m = district.m();
    std::vector<double> L = fit.Omega, W(static_cast<std::size_t>(k) * k),
                        z(static_cast<std::size_t>(k) * m);
    (void)cholesky_of_singular(L.data(), k, infinity);
    invert_factored(L.data(), k, W);
    for (int v = 0; v < k; ++v)
        for (int w = 0; w < k; ++w) {
            axpy(-W[v * k + w], &fit.B[w * m], &z[v * m], m);
            z[v * m + w] += W[v * k + w];
        }
    for (int v = 0; v < k; ++v) {
        Row& row = rows_[district.nodes[v]];
        row.nodes = district.nodes;
        row.z.assign(z.begin() + v * m, z.begin() + (v + 1) * m);
        row.W.assign(W.begin() + v * k, W.begin() + (v + 1) * k);
        row.precision = W[v * k + v];
        row.determined = !(fit.Omega[v * k + v] * row.precision < most_inflation);
        row.zS.assign(d_, 0.0);
        for (int j = 0; j < m; ++j)
            axpy(row.z[j], S_ + static_cast<std::ptrdiff_t>(district.nodes[j]) * d_, row.zS.data(),
                 d_);
        row.left = 0.0;
        for (int j = 0; j < m; ++j) row.left += row.z[j] * row.zS[district.nodes[j]];
        row.known = true;
        row.factored = false;
    }
}

double Screen::covariance(int i, int j) const {
    if (i == j) return rows_[i].left;
    // In a fixed order of i and j, so that the result is symmetric bit for bit.
    const Row &a = rows_[std::min(i, j)], &b = rows_[std::max(i, j)];
    double sum = 0.0;
    for (std::size_t k = 0; k < b.nodes.size(); ++k) sum += b.z[k] * a.zS[b.nodes[k]];
    return sum;
}

double Screen::share_of(const Row& row, int other) {
    for (std::size_t k = 0; k < row.W.size(); ++k)
        if (row.nodes[k] == other) return row.W[k] / row.precision;
    return 0.0;
}

const Screen::Row& Screen::factored(const Graph& graph, int node) {
    row(graph, node);
    Row& row = rows_[node];
    if (row.factored) return row;
    row.parents.clear();
    row.spouses.clear();
    row.share.clear();
    for_each_node(graph.parents(node), graph.words(), [&](int p) { row.parents.push_back(p); });
    for_each_node(graph.spouses(node), graph.words(), [&](int q) {
        row.spouses.push_back(q);
        row.share.push_back(share_of(row, q));
    });
    const int np = static_cast<int>(row.parents.size()), nq = static_cast<int>(row.spouses.size());
    const int n = np + nq;
    row.factor.assign(static_cast<std::size_t>(n) * n, 0.0);
    for (int a = 0; a < np; ++a)
        for (int b = 0; b <= a; ++b) row.factor[a * n + b] = S(row.parents[a], row.parents[b]);
    for (int a = 0; a < nq; ++a) {
        const int q = row.spouses[a];
        const double share = row.share[a], with_own = covariance(q, node);
        double* entries = &row.factor[(np + a) * n];
        for (int b = 0; b < np; ++b)
            entries[b] = rows_[q].zS[row.parents[b]] - share * row.zS[row.parents[b]];
        for (int b = 0; b <= a; ++b) {
            const int r = row.spouses[b];
            entries[np + b] = covariance(q, r) - row.share[b] * with_own -
                              share * covariance(r, node) + share * row.share[b] * row.left;
        }
    }
    (void)cholesky_of_singular(row.factor.data(), n, infinity);
    row.losses.clear();
    row.factored = true;
    return row;
}

double Screen::loss(const Graph& graph, int from, int to) {
    (void)factored(graph, to);
    Row& row = rows_[to];
    if (row.determined || !(row.left > 0.0)) return 0.0;
    const int np = static_cast<int>(row.parents.size()), nq = static_cast<int>(row.spouses.size());
    const int n = np + nq;
    if (row.losses.empty()) {
        std::vector<double> b(n), unit(n);
        for (int a = 0; a < np; ++a) b[a] = S(row.parents[a], to);
        for (int a = 0; a < nq; ++a)
            b[np + a] = rows_[row.spouses[a]].zS[to] - row.share[a] * row.zS[to];
        solve_factored(row.factor.data(), n, b.data());
        const double variance = row.left / (row.precision * row.precision);
        for (int a = 0; a < n; ++a) {
            unit.assign(n, 0.0);
            unit[a] = 1.0;
            solve_lower(row.factor.data(), n, unit.data());
            const double inverse = dot(unit.data(), unit.data(), n);
            row.losses.push_back(0.5 * std::log1p(b[a] * b[a] / (inverse * variance)));
        }
    }
    const auto& regressors = graph.bidirected(from, to) ? row.spouses : row.parents;
    const auto at = std::ranges::find(regressors, from) - regressors.begin();
    const double found = row.losses[graph.bidirected(from, to) ? np + at : at];
    return std::isnan(found) ? 0.0 : found;
}

/// The gain of a regressor y whose covariances with the others are in `solved_`.
double Screen::gain(const Row& row, double with_residual, double variance) {
    const int n = static_cast<int>(solved_.size());
    solve_lower(row.factor.data(), n, solved_.data());
    const double left = variance - dot(solved_.data(), solved_.data(), n);
    if (!(left > least_share * variance) || !(row.left > 0.0)) return 0.0;
    const double explained = with_residual * with_residual / (row.left * left);
    return explained < 1.0 ? -0.5 * std::log1p(-explained) : infinity;
}

double Screen::directed(const Graph& graph, int from, int to) {
    const Row& here = factored(graph, to);
    if (here.determined) return infinity;
    solved_.clear();
    for (const int p : here.parents) solved_.push_back(S(p, from));
    for (std::size_t a = 0; a < here.spouses.size(); ++a)
        solved_.push_back(rows_[here.spouses[a]].zS[from] - here.share[a] * here.zS[from]);
    return gain(here, here.zS[from], S(from, from));
}

double Screen::from_side(const Graph& graph, int spouse, int node) {
    const Row& there = row(graph, spouse);
    const Row& here = factored(graph, node);
    const double share = share_of(here, spouse), with_own = covariance(spouse, node);
    solved_.clear();
    for (const int p : here.parents) solved_.push_back(there.zS[p] - share * here.zS[p]);
    for (std::size_t a = 0; a < here.spouses.size(); ++a) {
        const int q = here.spouses[a];
        double entry = covariance(spouse, q) - here.share[a] * with_own;
        if (share != 0.0) entry -= share * (covariance(q, node) - here.share[a] * here.left);
        solved_.push_back(entry);
    }
    return gain(here, with_own - share * here.left,
                there.left - share * (2.0 * with_own - share * here.left));
}

double Screen::bidirected(const Graph& graph, int i, int j) {
    if (row(graph, i).determined || row(graph, j).determined) return infinity;
    return std::max(from_side(graph, i, j), from_side(graph, j, i));
}

}  // namespace bowfree
