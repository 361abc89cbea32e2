#include "model/grouped_objective.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "dense.hpp"

namespace bowfree {

// An evaluation with so few parameters takes a millisecond or two: no need to check for a stop.
constexpr int few_parameters = 50;

/// The parameters of the term at a theta.
const double* GroupedObjective::Term::values(const std::vector<double>& all) {
    if (index.empty()) return all.data();
    for (std::size_t i = 0; i < index.size(); ++i) theta[i] = all[index[i]];
    for (std::size_t i = 0; i < ratios.size(); ++i)
        for (const int r : ratios[i])
            if (r >= 0) theta[i] *= all[r];
    return theta.data();
}

void GroupedObjective::reset(const District& district, const double* S, const double* X,
                             const Stop* stop) {
    prepare(district, stop);
    Term& only = add_term(1.0);
    only.f.reset(district, S, X, stop_);
    only.index.clear();
    only.ratios.clear();
    only.rows.resize(k_);
    for (int v = 0; v < k_; ++v) only.rows[v] = v;
}

void GroupedObjective::reset(const District& district, const std::vector<GroupMoments>& groups,
                             const Stop* stop) {
    prepare(district, stop);
    std::vector<int> in_A(k_ * m_, -1), in_R(k_ * k_, -1);  // number of the parameter at each entry
    for (int i = 0; i < n_; ++i)
        (i < n_rows_ ? in_A[shared_.entries[i].row * m_ + shared_.entries[i].column]
                     : in_R[shared_.entries[i].row * k_ + shared_.entries[i].column]) = i;
    for (const GroupMoments& group : groups) {
        Term& term = add_term(group.weight);
        const std::vector<int>& nodes = group.district.nodes;
        term.f.reset(group.district, group.S.data(), group.X.data(), stop_);
        term.rows.assign(nodes.begin(), nodes.begin() + group.district.k);
        index_parameters(term, group, in_A, in_R);
        for (auto* vector : {&term.theta, &term.gradient})
            vector->resize(term.f.parameters().size());
    }
}

/// Indexes the parameters of a group, adding those that are specific.
void GroupedObjective::index_parameters(Term& term, const GroupMoments& group,
                                        const std::vector<int>& in_A,
                                        const std::vector<int>& in_R) {
    const std::vector<int>& nodes = group.district.nodes;
    const ConditionGroup& pooled = *group.source;
    const auto add = [&](int like) {
        start_from_.push_back(like);
        return n_++;
    };
    std::vector<int> ratio(group.district.k, -1);
    const bool noise = pooled.condition >= 0 && pooled.kind == InterventionKind::noise;
    for (int v = 0; noise && v < group.district.k; ++v)
        if (pooled.is_target(nodes[v])) ratio[v] = add(-1);
    const int n = term.f.parameters().size();
    term.index.resize(n);
    term.base.resize(n);
    term.ratios.clear();
    for (int i = 0; i < n; ++i) {
        const auto [a, b] = term.f.parameters().entries[i];
        const bool in_row = i < term.f.parameters().n_rows;
        const int base = in_row ? in_A[nodes[a] * m_ + nodes[b]] : in_R[nodes[a] * k_ + nodes[b]];
        const ParameterUse use = in_row && a != b ? pooled.coefficient(nodes[b], nodes[a])
                                                  : pooled.error(nodes[a], nodes[b]);
        const bool own = pooled.condition >= 0 && use == ParameterUse::specific && !noise;
        term.base[i] = base;
        term.index[i] = own ? add(base) : base;
        if (!own) is_used_[base] = true;
        if (noise) term.ratios.push_back({ratio[a], in_row ? -1 : ratio[b]});
    }
}

void GroupedObjective::prepare(const District& district, const Stop* stop) {
    k_ = district.k;
    m_ = district.m();
    n_terms_ = 0;

    shared_.list(district);
    n_rows_ = shared_.n_rows;
    n_ = n_shared_ = shared_.size();
    is_used_.assign(n_shared_, false);
    start_from_.clear();
    stop_ = n_ > few_parameters ? stop : nullptr;
}

/// Sets specific parameters to the values of the shared ones, and unused shared ones to zero.
void GroupedObjective::spread_shared(std::vector<double>& theta) const {
    for (int i = n_shared_; i < n_; ++i) {
        const int like = start_from_[i - n_shared_];
        theta[i] = like < 0 ? 1.0 : theta[like];
    }
    for (int i = 0; n_ > n_shared_ && i < n_shared_; ++i)
        if (!is_used_[i]) theta[i] = 0.0;
}

GroupedObjective::Term& GroupedObjective::add_term(double weight) {
    if (n_terms_ == static_cast<int>(terms_.size())) terms_.emplace_back();
    Term& term = terms_[n_terms_++];
    term.weight = weight;
    return term;
}

void GroupedObjective::scale(const double* A, const double* Omega,
                             std::vector<double>& theta) const {
    const auto u = [&](int v) { return 1.0 / std::sqrt(Omega[v * k_ + v]); };
    for (int i = 0; i < n_rows_; ++i)
        theta[i] =
            u(shared_.entries[i].row) * A[shared_.entries[i].row * m_ + shared_.entries[i].column];
    for (int i = n_rows_; i < n_shared_; ++i) {
        const auto [a, b] = shared_.entries[i];
        theta[i] = u(a) * u(b) * Omega[a * k_ + b];
    }
    spread_shared(theta);
}

void GroupedObjective::unscale(const std::vector<double>& theta, double* A, double* Omega) const {
    std::fill_n(A, k_ * m_, 0.0);
    std::fill_n(Omega, k_ * k_, 0.0);
    double u = 1.0;
    for (int i = 0; i < n_rows_; ++i) {
        const auto [v, j] = shared_.entries[i];
        if (v == j) {  // u_v comes first in its row
            u = theta[i];
            Omega[v * k_ + v] = 1.0 / (u * u);
        }
        A[v * m_ + j] = theta[i] / u;
    }
    for (int i = n_rows_; i < n_shared_; ++i) {
        const auto [a, b] = shared_.entries[i];
        Omega[a * k_ + b] = Omega[b * k_ + a] =
            theta[i] * std::sqrt(Omega[a * k_ + a] * Omega[b * k_ + b]);
    }
}

void GroupedObjective::unscale(int group, const std::vector<double>& theta, double* A,
                               double* Omega) {
    Term& term = terms_[group];
    std::vector<double> shared(theta.begin(), theta.begin() + n_shared_);
    const double* own = term.values(theta);
    for (std::size_t i = 0; i < term.base.size(); ++i) shared[term.base[i]] = own[i];
    unscale(shared, A, Omega);
}

void GroupedObjective::scale_uncorrelated(const double* B, std::vector<double>& theta) {
    std::ranges::fill(theta, 0.0);
    for (int i = 0; i < n_rows_; ++i) {
        const auto [v, j] = shared_.entries[i];
        theta[i] = v == j ? 1.0 : -B[v * m_ + j];
    }
    spread_shared(theta);
    // Residual variances, over the groups that contain the row.
    std::vector<double> variance(k_), weight(k_);
    for (int t = 0; t < n_terms_; ++t) {
        Term& term = terms_[t];
        term.f.add_variances(term.values(theta), term.weight, term.rows, variance.data());
        for (const int v : term.rows) weight[v] += term.weight;
    }
    for (int i = 0; i < n_rows_; ++i) {
        const int v = shared_.entries[i].row;
        theta[i] /= std::sqrt(std::max(variance[v] / weight[v], rounding_share));
    }
    spread_shared(theta);
}

double GroupedObjective::evaluate(const std::vector<double>& theta) {
    double value = 0.0;
    for (int t = 0; t < n_terms_; ++t)
        value += terms_[t].weight * terms_[t].f.evaluate(terms_[t].values(theta));
    return value;
}

void GroupedObjective::differentiate(const std::vector<double>& theta,
                                     std::vector<double>& gradient, std::vector<double>* hessian) {
    if (terms_[0].index.empty()) {
        terms_[0].f.differentiate(theta.data(), gradient.data(),
                                  hessian ? hessian->data() : nullptr);
        return;
    }
    std::ranges::fill(gradient, 0.0);
    if (hessian) std::ranges::fill(*hessian, 0.0);
    for (int t = 0; t < n_terms_; ++t) {
        Term& term = terms_[t];
        const int n = term.f.parameters().size();
        resize_large(term.hessian, hessian ? static_cast<std::size_t>(n) * n : 0, stop_);
        term.f.differentiate(term.values(theta), term.gradient.data(),
                             hessian ? term.hessian.data() : nullptr);
        add_derivatives(term, theta, gradient, hessian);
    }
    if (hessian && !all_shared())
        for (int i = 0; i < n_shared_; ++i)  // unused parameters do not move
            if (!is_used_[i]) (*hessian)[static_cast<std::ptrdiff_t>(i) * n_ + i] = 1.0;
}

/// Adds the derivatives of one group, whose parameters are entries of theta or products of one with
/// ratios.
void GroupedObjective::add_derivatives(const Term& term, const std::vector<double>& theta,
                                       std::vector<double>& gradient,
                                       std::vector<double>* hessian) const {
    const bool twice = hessian != nullptr;
    const int n = term.f.parameters().size();
    const auto H = [&](int p, int q) -> double& {
        return (*hessian)[static_cast<std::ptrdiff_t>(std::max(p, q)) * n_ + std::min(p, q)];
    };
    const auto own = [&](int i, int c) {
        return term.hessian[static_cast<std::ptrdiff_t>(i) * n + c];
    };
    if (term.ratios.empty()) {
        for (int i = 0; i < n; ++i) {
            gradient[term.index[i]] += term.weight * term.gradient[i];
            for (int c = 0; twice && c <= i; ++c)
                H(term.index[i], term.index[c]) += term.weight * own(i, c);
        }
        return;
    }
    struct Slope {
        int parameter;
        double slope;
    };
    std::vector<std::vector<Slope>> slopes(n);
    for (int i = 0; i < n; ++i) {
        std::vector<int> factors{term.index[i]};
        for (const int r : term.ratios[i])
            if (r >= 0) factors.push_back(r);
        const auto without = [&](int p, int q) {
            double product = 1.0;
            for (const int factor : factors)
                if (factor != p && factor != q) product *= theta[factor];
            return product;
        };
        for (const int p : factors) {
            slopes[i].push_back({p, without(p, p)});
            gradient[p] += term.weight * term.gradient[i] * slopes[i].back().slope;
            for (const int q : factors)
                if (twice && q < p) H(p, q) += term.weight * term.gradient[i] * without(p, q);
        }
    }
    for (int i = 0; twice && i < n; ++i)
        for (int c = 0; c <= i; ++c)
            for (const Slope& p : slopes[i])
                for (const Slope& q : slopes[c]) {
                    if (i == c && q.parameter > p.parameter) continue;
                    // Both (i, c) and (c, i) contribute to (p, p) when they share p.
                    const double times = i != c && p.parameter == q.parameter ? 2.0 : 1.0;
                    H(p.parameter, q.parameter) +=
                        times * term.weight * own(i, c) * p.slope * q.slope;
                }
}

GroupedObjective::Determined GroupedObjective::most_determined() const {
    Determined most{-1, 0.0};
    for (int t = 0; t < n_terms_; ++t) {
        const std::vector<int>& rows = terms_[t].rows;
        const std::vector<double>& W = terms_[t].f.W();
        for (std::size_t w = 0; w < rows.size(); ++w)
            if (W[w * rows.size() + w] > most.inverse) most = {rows[w], W[w * rows.size() + w]};
    }
    return most;
}

double GroupedObjective::smallest_eigenvalue(const std::vector<double>& theta) const {
    std::vector<double> R(k_ * k_);
    for (int v = 0; v < k_; ++v) R[v * k_ + v] = 1.0;
    for (int i = n_rows_; i < n_shared_; ++i) {
        const auto [a, b] = shared_.entries[i];
        R[a * k_ + b] = R[b * k_ + a] = theta[i];
    }
    return bowfree::smallest_eigenvalue(R.data(), k_, stop_);
}

}  // namespace bowfree
