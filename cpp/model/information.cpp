#include "model/information.hpp"

#include <cmath>
#include <utility>

#include "model/dense.hpp"

namespace bowfree {

namespace {

/// The free parameters: B at (child, parent), then Omega at (a, b), a <= b. Local numbers.
struct Parameters {
    explicit Parameters(const District& district) {
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

/// The district's part of S and of a fit, every variable scaled to variance one.
struct Scaled {
    Scaled(const double* cov, int d, const District& district, const DistrictFit& fit)
        : k(district.k), m(district.m()), sd(m), S(m * m), A(k * m), Omega(k * k) {
        const auto& nodes = district.nodes;
        for (int i = 0; i < m; ++i) sd[i] = std::sqrt(cov[nodes[i] * d + nodes[i]]);
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < m; ++j)
                S[i * m + j] = cov[nodes[i] * d + nodes[j]] / (sd[i] * sd[j]);
        for (int v = 0; v < k; ++v) {
            for (int j = 0; j < m; ++j)
                A[v * m + j] = (v == j ? 1.0 : 0.0) - fit.B[v * m + j] * sd[j] / sd[v];
            for (int w = 0; w < k; ++w) Omega[v * k + w] = fit.Omega[v * k + w] / (sd[v] * sd[w]);
        }
    }

    int k, m;
    std::vector<double> sd, S, A, Omega;
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
std::vector<double> information(const Scaled& at, const Parameters& parameters) {
    const int k = at.k, m = at.m, q = parameters.size(), p = parameters.n_coefficients;
    std::vector<double> L = at.Omega, W(k * k), AT(m * k);
    if (cholesky(L.data(), k) < k) return {};
    for (int v = 0; v < k; ++v) W[v * k + v] = 1.0;
    solve_lower(L.data(), k, W.data(), k);
    solve_lower_transposed(L.data(), k, W.data(), k);
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

}  // namespace

std::vector<double> coefficient_covariance(const double* S, int d, const District& district,
                                           const DistrictFit& fit) {
    const Parameters parameters(district);
    const Scaled at(S, d, district, fit);
    const int q = parameters.size(), p = parameters.n_coefficients;
    std::vector<double> H = information(at, parameters);
    if (H.empty() || cholesky(H.data(), q) < q) return {};
    std::vector<double> root(static_cast<std::size_t>(q) * p), V(static_cast<std::size_t>(p) * p);
    for (int s = 0; s < p; ++s) root[s * p + s] = 1.0;
    solve_lower(H.data(), q, root.data(), p);  // the inverse's block is root^T root
    for (int u = 0; u < q; ++u)
        for (int s = 0; s < p; ++s) axpy(root[u * p + s], &root[u * p], &V[s * p], p);
    const auto unit = [&](int s) {
        const auto [child, parent] = parameters.at[s];
        return at.sd[child] / at.sd[parent];
    };
    for (int s = 0; s < p; ++s)
        for (int t = 0; t < p; ++t) V[s * p + t] *= unit(s) * unit(t);
    return V;
}

}  // namespace bowfree
