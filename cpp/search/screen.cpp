#include "search/screen.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "dense.hpp"

namespace bowfree {

// A new regressor with a smaller share of its variance left is a combination of the others.
constexpr double least_share = 1e-10;

// Numbers in the rows that are kept, about: 32 MB.
constexpr std::size_t most_numbers = 4'000'000;

Screen::Screen(const Scorer& scorer, Workspace& workspace, Memory* memory)
    : workspace_(workspace),
      S_(scorer.data().conditions.front().S.data()),
      d_(scorer.d()),
      rows_(scorer.d()),
      own_(memory ? nullptr : std::make_unique<Memory>()),
      memory_(memory ? *memory : *own_) {}

const Screen::Row& Screen::row(const Graph& graph, int node) {
    if (!rows_[node]) find_district(graph, node);
    return *rows_[node];
}

void Screen::find_district(const Graph& graph, int node) {
    const std::vector<int> members = district_of(graph, node);
    if (4 * memory_.n_kept_ * d_ > most_numbers) {
        memory_.fitted_.clear();
        memory_.n_kept_ = 0;
    }
    auto& fitted = memory_.fitted_[rows_key(graph, members)];
    if (!fitted) {
        fitted = fit(make_district(graph, members));
        memory_.n_kept_ += members.size();
    }
    workspace_.count(fitted->work);
    for (std::size_t v = 0; v < members.size(); ++v) rows_[members[v]] = {fitted, &fitted->rows[v]};
}

std::shared_ptr<Screen::Fitted> Screen::fit(const District& district) {
    const DistrictFit fit = workspace_.fitter.fit(district, estimates_only);
    const int k = district.k, m = district.m();
    const auto fitted = std::make_shared<Fitted>();
    fitted->work = workspace_.fitter.work();
    fitted->rows.resize(k);
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
        Row& row = fitted->rows[v];
        row.number = ++memory_.n_rows_;
        row.nodes = district.nodes;
        row.z.assign(z.begin() + v * m, z.begin() + (v + 1) * m);
        row.W.assign(W.begin() + v * k, W.begin() + (v + 1) * k);
        row.precision = W[v * k + v];
        row.inflation = fit.Omega[v * k + v] * row.precision;
        row.zS.assign(d_, 0.0);
        for (int j = 0; j < m; ++j)
            axpy(row.z[j], S_ + static_cast<std::ptrdiff_t>(district.nodes[j]) * d_, row.zS.data(),
                 d_);
        for (int j = 0; j < m; ++j) row.left += row.z[j] * row.zS[district.nodes[j]];
    }
    return fitted;
}

double Screen::covariance(int i, int j) const {
    if (i == j) return rows_[i]->left;
    // In a fixed order of i and j, so that the result is symmetric bit for bit.
    const Row &a = *rows_[std::min(i, j)], &b = *rows_[std::max(i, j)];
    double sum = 0.0;
    for (std::size_t k = 0; k < b.nodes.size(); ++k) sum += b.z[k] * a.zS[b.nodes[k]];
    return sum;
}

double Screen::share_of(const Row& row, int other) {
    for (std::size_t k = 0; k < row.W.size(); ++k)
        if (row.nodes[k] == other) return row.W[k] / row.precision;
    return 0.0;
}

Screen::Row& Screen::factored(const Graph& graph, int node) {
    if (!rows_[node]) find_district(graph, node);
    Row& row = *rows_[node];
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
            entries[b] = rows_[q]->zS[row.parents[b]] - share * row.zS[row.parents[b]];
        for (int b = 0; b <= a; ++b) {
            const int r = row.spouses[b];
            entries[np + b] = covariance(q, r) - row.share[b] * with_own -
                              share * covariance(r, node) + share * row.share[b] * row.left;
        }
    }
    (void)cholesky_of_singular(row.factor.data(), n, infinity);
    row.solved.resize(n);
    for (int a = 0; a < np; ++a) row.solved[a] = S(row.parents[a], node);
    for (int a = 0; a < nq; ++a)
        row.solved[np + a] = rows_[row.spouses[a]]->zS[node] - row.share[a] * row.zS[node];
    solve_lower(row.factor.data(), n, row.solved.data());
    row.factored = true;
    return row;
}

/// Makes `y_` what the regressors of the row leave of it.
void Screen::reduce(const Row& row, double variance) {
    const int n = static_cast<int>(y_.solved.size());
    solve_lower(row.factor.data(), n, y_.solved.data());
    y_.variance = variance - dot(y_.solved.data(), y_.solved.data(), n);
    if (!(y_.variance > least_share * variance)) y_.with_residual = y_.variance = 0.0;
}

void Screen::use_parent(const Graph& graph, int parent, int node) {
    const Row& here = factored(graph, node);
    y_.solved.clear();
    for (const int p : here.parents) y_.solved.push_back(S(p, parent));
    for (std::size_t a = 0; a < here.spouses.size(); ++a)
        y_.solved.push_back(rows_[here.spouses[a]]->zS[parent] - here.share[a] * here.zS[parent]);
    y_.with_residual = here.zS[parent];
    reduce(here, S(parent, parent));
}

void Screen::use_spouse(const Graph& graph, int spouse, int node) {
    const Row& there = row(graph, spouse);
    const Row& here = factored(graph, node);
    const double share = share_of(here, spouse), with_own = covariance(spouse, node);
    y_.solved.clear();
    for (const int p : here.parents) y_.solved.push_back(there.zS[p] - share * here.zS[p]);
    for (std::size_t a = 0; a < here.spouses.size(); ++a) {
        const int q = here.spouses[a];
        double entry = covariance(spouse, q) - here.share[a] * with_own;
        if (share != 0.0) entry -= share * (covariance(q, node) - here.share[a] * here.left);
        y_.solved.push_back(entry);
    }
    y_.with_residual = with_own - share * here.left;
    reduce(here, there.left - share * (2.0 * with_own - share * here.left));
}

/// The gain of the row by a regressor, from its covariance with the residual.
double Screen::gain(const Row& row, double with_residual, double variance) {
    if (variance == 0.0 || !(row.left > 0.0)) return 0.0;
    const double explained = with_residual * with_residual / (row.left * variance);
    return explained < 1.0 ? -0.5 * std::log1p(-explained) : infinity;
}

/// The regressor `from` of the row of `to`; writes `unit_`.
Screen::Present Screen::present(const Graph& graph, int from, int to) {
    const Row& here = factored(graph, to);
    const bool is_spouse = graph.bidirected(from, to);
    const auto& regressors = is_spouse ? here.spouses : here.parents;
    const auto at = std::ranges::find(regressors, from) - regressors.begin();
    const int n = static_cast<int>(here.solved.size());
    unit_.assign(n, 0.0);
    unit_[is_spouse ? here.parents.size() + at : at] = 1.0;
    solve_lower(here.factor.data(), n, unit_.data());
    return {dot(unit_.data(), here.solved.data(), n), dot(unit_.data(), unit_.data(), n)};
}

double Screen::directed(const Graph& graph, int from, int to) {
    Row& here = factored(graph, to);
    if (here.gains.empty()) compute_gains(here);
    return here.gains[from];
}

/// What `use_parent` and `gain` compute for one parent, for all nodes.
void Screen::compute_gains(Row& row) {
    all_.clear();
    for (const int p : row.parents) {
        const double* Sp = S_ + static_cast<std::ptrdiff_t>(p) * d_;
        all_.insert(all_.end(), Sp, Sp + d_);
    }
    for (std::size_t a = 0; a < row.spouses.size(); ++a) {
        const std::vector<double>& zS = rows_[row.spouses[a]]->zS;
        all_.insert(all_.end(), zS.begin(), zS.end());
        axpy(-row.share[a], row.zS.data(), &all_[all_.size() - d_], d_);
    }
    const int n = static_cast<int>(row.solved.size());
    solve_lower(row.factor.data(), n, all_.data(), d_);
    variance_.resize(d_);
    for (int u = 0; u < d_; ++u) variance_[u] = S(u, u);
    for (int a = 0; a < n; ++a)
        for (int u = 0; u < d_; ++u) {
            const double entry = all_[static_cast<std::size_t>(a) * d_ + u];
            variance_[u] -= entry * entry;
        }
    row.gains.resize(d_);
    for (int u = 0; u < d_; ++u) {
        const bool free = variance_[u] > least_share * S(u, u);
        row.gains[u] = free ? row.inflation * gain(row, row.zS[u], variance_[u]) : 0.0;
    }
}

double Screen::bidirected(const Graph& graph, int i, int j) {
    auto& known = factored(graph, i).with_spouse;
    known.resize(d_);
    auto& [number, most] = known[j];
    if (number == row(graph, j).number) return most;
    const auto by_row = [&](int spouse, int node) {
        use_spouse(graph, spouse, node);
        return rows_[node]->inflation * gain(*rows_[node]);
    };
    most = std::max(by_row(i, j), by_row(j, i));
    number = rows_[j]->number;
    return most;
}

double Screen::loss(const Graph& graph, int from, int to) {
    const auto [b, g] = present(graph, from, to);
    const Row& here = *rows_[to];
    const double variance = here.left / (here.precision * here.precision);
    return 0.5 * std::log1p(b * b / (g * variance)) / here.inflation;
}

Screen::Exchange Screen::exchange(const Graph& graph, int from, int to) {
    double further = 0.0;  // by the other row
    const bool to_spouse = !graph.bidirected(from, to);
    if (to_spouse) {
        use_spouse(graph, to, from);
        further = gain(*rows_[from]);
        use_spouse(graph, from, to);
    } else {
        (void)row(graph, from);
        use_parent(graph, from, to);
    }
    const auto [b, g] = present(graph, from, to);
    const Row& here = *rows_[to];
    const double inflation = std::max(here.inflation, rows_[from]->inflation);
    const double by_row = gain(here);
    // The residual variance of x_v with both regressors, and its covariance with y and the variance
    // of y without the old one.
    const double before = here.left / (here.precision * here.precision);
    const double with_residual = y_.with_residual / here.precision;
    const double both = before * std::exp(-2.0 * by_row);
    const double share = dot(unit_.data(), y_.solved.data(), static_cast<int>(unit_.size())) / g;
    const double covariance = with_residual + b * share, variance = y_.variance + g * share * share;
    double after = before + b * b / g;
    if (variance > 0.0) after -= covariance * covariance / variance;
    return {inflation * (by_row + further), 0.5 * std::log(after / both) / inflation};
}

}  // namespace bowfree
