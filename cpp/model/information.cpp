#include "model/information.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "dense.hpp"

namespace bowfree {

namespace {

/// The free parameters: B at (child, parent), then Omega at (a, b), a <= b. Local numbers.
struct ParameterList {
    explicit ParameterList(const District& district) {
        for (int v = 0; v < district.k; ++v)
            for (const int p : district.parents[v]) at.emplace_back(v, p);
        n_coefficients = size();
        for (const auto& pair : district.spouse_pairs) at.push_back(pair);
        for (int v = 0; v < district.k; ++v) at.emplace_back(v, v);
    }
    int size() const { return static_cast<int>(at.size()); }

    std::vector<std::pair<int, int>> at;
    int n_coefficients = 0;
};

/// The standard deviations of the variables of a district, over all groups.
std::vector<double> scales(const std::vector<ConditionGroup>& groups, int m) {
    std::vector<double> sd(m);
    double share = 0.0;
    for (const ConditionGroup& group : groups) {
        share += group.weight;
        for (int i = 0; i < m; ++i) sd[i] += group.weight * group.S[i * m + i];
    }
    for (double& entry : sd) entry = std::sqrt(entry / share);
    return sd;
}

/// B and Omega of a fit, in one group.
struct Estimates {
    const std::vector<double>& B;
    const std::vector<double>& Omega;

    static Estimates of(const DistrictFit& fit, const ConditionGroup& group) {
        for (const ConditionFit& own : fit.condition_fits)
            if (own.condition == group.condition) return {own.B, own.Omega};
        return {fit.B, fit.Omega};
    }
};

/// The district with its own local numbers in place of nodes: all members, nothing left out.
District district_in_local_numbers(District district) {
    std::iota(district.nodes.begin(), district.nodes.end(), 0);
    return district;
}

/// S, A and Omega of a group for the members that it does not set and their parents, with variables
/// scaled by `sd`. The nodes of `left` are local numbers of the fitted district.
struct Scaled {
    Scaled(const ConditionGroup& group, const District& left, const Estimates& fit,
           const std::vector<double>& sd)
        : k(left.k), m(left.m()), S(m * m), A(k * m), Omega(k * k) {
        const std::size_t all = sd.size(), members = group.set.size();
        const auto& nodes = left.nodes;
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < m; ++j)
                S[i * m + j] = group.S[nodes[i] * all + nodes[j]] / (sd[nodes[i]] * sd[nodes[j]]);
        for (int v = 0; v < k; ++v) {
            for (int j = 0; j < m; ++j)
                A[v * m + j] = (v == j ? 1.0 : 0.0) -
                               fit.B[nodes[v] * all + nodes[j]] * sd[nodes[j]] / sd[nodes[v]];
            for (int w = 0; w < k; ++w)
                Omega[v * k + w] =
                    fit.Omega[nodes[v] * members + nodes[w]] / (sd[nodes[v]] * sd[nodes[w]]);
        }
    }

    int k, m;
    std::vector<double> S, A, Omega;
};

/// The product of an r x n and an n x c matrix.
std::vector<double> product(const std::vector<double>& X, const std::vector<double>& Y, int r,
                            int n, int c) {
    std::vector<double> Z(static_cast<std::size_t>(r) * c);
    for (int i = 0; i < r; ++i)
        for (int l = 0; l < n; ++l) axpy(X[i * n + l], &Y[l * c], &Z[i * c], c);
    return Z;
}

/// Half the Hessian of F, which is the information of one observation. Empty when Omega is
/// singular.
///
/// With W = Omega^-1, G = W A S and Q = W A S A^T W, and D = e_a e_b^T + e_b e_a^T (for a variance
/// half of it) the direction of a parameter of Omega:
///     B_ij, B_kl      W_ik S_jl
///     B_ij, Omega_ab  W_ia G_bj + W_ib G_aj
///     Omega, Omega'   1/2 tr(D W D' Q + D Q D' W - D W D' W)
std::vector<double> information(const Scaled& at, const ParameterList& parameters) {
    const int k = at.k, m = at.m, q = parameters.size(), p = parameters.n_coefficients;
    std::vector<double> L = at.Omega, W(k * k), AT(m * k);
    if (cholesky(L.data(), k) < k) return {};
    invert_factored(L.data(), k, W);
    for (int v = 0; v < k; ++v)
        for (int j = 0; j < m; ++j) AT[j * k + v] = at.A[v * m + j];
    const auto G = product(W, product(at.A, at.S, k, m, m), k, k, m);
    const auto Q = product(product(G, AT, k, m, k), W, k, k, k);

    std::vector<double> H(static_cast<std::size_t>(q) * q);
    const auto share = [](int a, int b) { return a == b ? 0.5 : 1.0; };
    for (int s = 0; s < q; ++s)
        for (int t = 0; t <= s; ++t) {
            const auto [a, b] = parameters.at[s];
            const auto [c, e] = parameters.at[t];
            double& entry = H[s * q + t];
            if (s < p) {
                entry = W[a * k + c] * at.S[b * m + e];
            } else if (t < p) {
                entry = share(a, b) * (W[c * k + a] * G[b * m + e] + W[c * k + b] * G[a * m + e]);
            } else {
                const auto form = [&](const std::vector<double>& M, const std::vector<double>& N) {
                    return M[b * k + c] * N[e * k + a] + M[b * k + e] * N[c * k + a] +
                           M[a * k + c] * N[e * k + b] + M[a * k + e] * N[c * k + b];
                };
                entry = 0.5 * share(a, b) * share(c, e) * (form(W, Q) + form(Q, W) - form(W, W));
            }
        }
    return H;
}

/// dg/dS for the half gradient g of F, one row for each parameter and one column for each entry
/// (i, j), i >= j, of S. With U = W A, the gradient is linear in S: -(U S)_ab for B_ab, and
/// -1/2 tr(D U S U^T) for a parameter of Omega.
std::vector<double> score_slopes(const Scaled& at, const ParameterList& parameters) {
    const int k = at.k, m = at.m, q = parameters.size(), n_entries = m * (m + 1) / 2;
    std::vector<double> L = at.Omega, U = at.A;
    if (cholesky(L.data(), k) < k) return {};
    solve_factored(L.data(), k, U.data(), m);
    std::vector<double> slopes(static_cast<std::size_t>(q) * n_entries);
    for (int s = 0; s < q; ++s) {
        const auto [a, b] = parameters.at[s];
        double* row = &slopes[static_cast<std::size_t>(s) * n_entries];
        for (int i = 0; i < m; ++i)
            for (int j = 0; j <= i; ++j, ++row) {
                const double twice = i == j ? 0.5 : 1.0;  // an entry off the diagonal counts twice
                if (s < parameters.n_coefficients)
                    *row = -twice * ((j == b ? U[a * m + i] : 0.0) + (i == b ? U[a * m + j] : 0.0));
                else
                    *row = -twice * (a == b ? 0.5 : 1.0) *
                           (U[a * m + i] * U[b * m + j] + U[b * m + i] * U[a * m + j]);
            }
    }
    return slopes;
}

}  // namespace

std::vector<double> coefficient_slopes(const JointData& data, const District& district,
                                       const DistrictFit& fit) {
    const std::vector<ConditionGroup> groups = pool_conditions(data, district);
    const int m = district.m(), n_entries = m * (m + 1) / 2;
    const std::vector<double> sd = scales(groups, m);
    const ParameterList parameters(district);
    const int p = parameters.n_coefficients, q = parameters.size();
    const Scaled at(groups.front(), district_in_local_numbers(district),
                    Estimates::of(fit, groups.front()), sd);
    std::vector<double> H = information(at, parameters), slopes = score_slopes(at, parameters);
    if (H.empty() || cholesky(H.data(), q) < q) return {};
    solve_factored(H.data(), q, slopes.data(), n_entries);
    slopes.resize(static_cast<std::size_t>(p) * n_entries);
    for (int s = 0; s < p; ++s) {
        const auto [child, parent] = parameters.at[s];
        double* row = &slopes[static_cast<std::size_t>(s) * n_entries];
        for (int i = 0; i < m; ++i)
            for (int j = 0; j <= i; ++j, ++row) *row *= -(sd[child] / sd[parent]) / (sd[i] * sd[j]);
    }
    return slopes;
}

SigmaEstimate estimate_sigma(const JointData& data, const Graph& graph,
                             const std::vector<double>& B, const std::vector<double>& Omega,
                             const std::vector<double>& gamma) {
    const int d = graph.d(), n_entries = d * (d + 1) / 2;
    std::vector<int> nodes(d);
    std::iota(nodes.begin(), nodes.end(), 0);
    const District whole = make_district(graph, nodes);
    const ConditionGroup group = pool_conditions(data, whole).front();
    const std::vector<double> sd = scales({group}, d);
    const Scaled at(group, whole, {B, Omega}, sd);
    const ParameterList parameters(whole);
    const int p = parameters.n_coefficients, q = parameters.size();
    std::vector<double> H = information(at, parameters);
    if (H.empty() || cholesky(H.data(), q) < q) return {};
    std::vector<double> E(d * d), ET(d * d);  // the inverse of A
    for (const int v : topological_order(graph)) {
        E[v * d + v] = 1.0;
        for (const int u : whole.parents[v]) axpy(-at.A[v * d + u], &E[u * d], &E[v * d], d);
    }
    for (int i = 0; i < d; ++i)
        for (int j = 0; j < d; ++j) ET[j * d + i] = E[i * d + j];
    SigmaEstimate found{product(product(E, at.Omega, d, d, d), ET, d, d, d),
                        std::vector<double>(n_entries * n_entries)};
    std::vector<double> D;  // the derivatives of Sigma by the parameters
    for (int s = 0; s < q; ++s) {
        const auto [a, b] = parameters.at[s];
        for (int i = 0; i < d; ++i)
            for (int j = 0; j <= i; ++j)
                D.push_back(s < p ? E[i * d + a] * found.Sigma[b * d + j] +
                                        found.Sigma[i * d + b] * E[j * d + a]
                                  : (a == b ? 0.5 : 1.0) * (E[i * d + a] * E[j * d + b] +
                                                            E[i * d + b] * E[j * d + a]));
    }
    // D^T H^-1 D, or J gamma J^T with J = dSigma/dS.
    std::vector<double> X = D;
    solve_factored(H.data(), q, X.data(), n_entries);
    const auto transposed_times = [&](const std::vector<double>& Y) {
        std::vector<double> Z(n_entries * n_entries);
        for (int s = 0; s < q; ++s)
            for (int e = 0; e < n_entries; ++e)
                axpy(X[s * n_entries + e], &Y[s * n_entries], &Z[e * n_entries], n_entries);
        return Z;
    };
    if (gamma.empty()) {
        found.covariance = transposed_times(D);
        return found;
    }
    std::vector<double> J = transposed_times(score_slopes(at, parameters)), unit, JT(J.size());
    for (int i = 0; i < d; ++i)
        for (int j = 0; j <= i; ++j) unit.push_back(1.0 / (sd[i] * sd[j]));
    for (int e = 0; e < n_entries; ++e)
        for (int f = 0; f < n_entries; ++f) JT[f * n_entries + e] = J[e * n_entries + f] *= unit[f];
    found.covariance = product(product(J, gamma, n_entries, n_entries, n_entries), JT, n_entries,
                               n_entries, n_entries);
    return found;
}

std::vector<double> coefficient_covariance(const JointData& data, const District& district,
                                           const DistrictFit& fit) {
    const std::vector<ConditionGroup> groups = pool_conditions(data, district);
    const std::vector<double> sd = scales(groups, district.m());
    const ParameterList parameters(without_uninformed_pairs(district, groups));
    const int p = parameters.n_coefficients;
    int q = parameters.size();  // specific ones are added below
    std::vector<char> in_use(q);
    std::vector<std::vector<int>> indices;  // by group: the number of each of its parameters
    for (const ConditionGroup& group : groups) {
        const District left = unset_members(district, group.set);
        const ParameterList own(left);
        std::vector<int>& index = indices.emplace_back();
        for (int s = 0; s < own.size(); ++s) {
            const int a = left.nodes[own.at[s].first], b = left.nodes[own.at[s].second];
            const bool coefficient = s < own.n_coefficients;
            if (group.condition >= 0 &&
                (coefficient ? group.coefficient(b, a) : group.error(a, b)) ==
                    ParameterUse::specific) {
                index.push_back(q++);
                continue;
            }
            const auto first = parameters.at.begin() + (coefficient ? 0 : p);
            index.push_back(static_cast<int>(
                std::find(first, parameters.at.end(), std::pair(a, b)) - parameters.at.begin()));
            in_use[index.back()] = true;
        }
    }
    std::vector<double> H(static_cast<std::size_t>(q) * q);
    for (std::size_t s = 0; s < in_use.size(); ++s)
        if (!in_use[s]) H[s * q + s] = 1.0;  // unused: independent of the rest
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const District left = unset_members(district, groups[g].set);
        const ParameterList own(left);
        const std::vector<int>& index = indices[g];
        const std::vector<double> part =
            information({groups[g], left, Estimates::of(fit, groups[g]), sd}, own);
        if (part.empty()) return {};
        for (int s = 0; s < own.size(); ++s)
            for (int t = 0; t <= s; ++t)
                H[std::max(index[s], index[t]) * q + std::min(index[s], index[t])] +=
                    groups[g].weight * part[s * own.size() + t];
    }
    if (cholesky(H.data(), q) < q) return {};
    std::vector<double> root(static_cast<std::size_t>(q) * p), V(static_cast<std::size_t>(p) * p);
    for (int s = 0; s < p; ++s) root[s * p + s] = 1.0;
    solve_lower(H.data(), q, root.data(), p);  // the inverse's block is root^T root
    for (int u = 0; u < q; ++u)
        for (int s = 0; s < p; ++s) axpy(root[u * p + s], &root[u * p], &V[s * p], p);
    const auto unit = [&](int s) {
        const auto [child, parent] = parameters.at[s];
        return sd[child] / sd[parent];
    };
    std::vector<int> kept;  // without intercepts
    for (int s = 0; s < p; ++s)
        if (district.nodes[parameters.at[s].second] < data.d) kept.push_back(s);
    std::vector<double> asked;
    for (const int s : kept)
        for (const int t : kept) asked.push_back(V[s * p + t] * (unit(s) * unit(t)));
    return asked;
}

}  // namespace bowfree
