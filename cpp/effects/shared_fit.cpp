#include "effects/shared_fit.hpp"

#include <algorithm>
#include <cmath>

#include "dense.hpp"

namespace bowfree {

namespace {

constexpr int most = SharedFit::max_nodes;
using Square = std::array<std::array<double, most>, most>;

// Of scaled variables: what is less has too few digits, what is more is not equivalent.
constexpr double smallest_pivot = 1e-6;
constexpr double largest_covariance = 1e-6;

Square product(const Square& X, const Square& Y) {
    Square Z{};
    for (int i = 0; i < most; ++i)
        for (int k = 0; k < most; ++k)
            for (int j = 0; j < most; ++j) Z[i][j] += X[i][k] * Y[k][j];
    return Z;
}

Square transposed(const Square& X) {
    Square Y;
    for (int i = 0; i < most; ++i)
        for (int j = 0; j < most; ++j) Y[j][i] = X[i][j];
    return Y;
}

/// Inverts the leading k x k block by Gauss-Jordan elimination; returns false if it is singular.
bool invert(Square& M, int k) {
    std::array<int, most> exchanged{};
    for (int c = 0; c < k; ++c) {
        int pivot = c;
        for (int r = c + 1; r < k; ++r)
            if (std::abs(M[r][c]) > std::abs(M[pivot][c])) pivot = r;
        if (!(std::abs(M[pivot][c]) > smallest_pivot)) return false;
        exchanged[c] = pivot;
        std::swap(M[c], M[pivot]);
        const double scale = 1.0 / std::exchange(M[c][c], 1.0);
        for (int j = 0; j < k; ++j) M[c][j] *= scale;
        for (int r = 0; r < k; ++r) {
            if (r == c) continue;
            const double factor = std::exchange(M[r][c], 0.0);
            for (int j = 0; j < k; ++j) M[r][j] -= factor * M[c][j];
        }
    }
    for (int c = k - 1; c >= 0; --c)
        for (int r = 0; r < k; ++r) std::swap(M[r][c], M[r][exchanged[c]]);
    return true;
}

}  // namespace

std::optional<SharedFit> SharedFit::of(const Graph& graph, const GraphFit& fit,
                                       const std::vector<double>& S,
                                       const std::vector<double>& gamma) {
    const int d = graph.d();
    SharedFit shared;
    shared.d_ = d;
    for (int v = 0; v < d; ++v) shared.sd_[v] = std::sqrt(S[v * d + v]);
    const auto& sd = shared.sd_;
    Square A{}, Omega{}, scaled{}, W{}, E{};
    std::vector<double> L(d * d), inverse;
    std::vector<std::pair<int, int>> at;  // B at (child, parent), then Omega at (a, b), a <= b
    for (int i = 0; i < d; ++i) {
        for_each_node(graph.parents(i), graph.words(), [&](int j) { at.emplace_back(i, j); });
        for (int j = 0; j < d; ++j) {
            A[i][j] = (i == j ? 1.0 : 0.0) - fit.B[i * d + j] * sd[j] / sd[i];
            scaled[i][j] = S[i * d + j] / (sd[i] * sd[j]);
            Omega[i][j] = L[i * d + j] = fit.Omega[i * d + j] / (sd[i] * sd[j]);
        }
    }
    const int n_coefficients = static_cast<int>(at.size());
    for (int a = 0; a < d; ++a)
        for (int b = a; b < d; ++b)
            if (a == b || graph.bidirected(a, b)) at.emplace_back(a, b);
    const int q = static_cast<int>(at.size()), n_entries = d * (d + 1) / 2;
    if (cholesky(L.data(), d) < d) return std::nullopt;
    invert_factored(L.data(), d, inverse);
    for (int v = 0; v < d; ++v) std::copy_n(&inverse[v * d], d, W[v].begin());
    for (const int v : topological_order(graph)) {
        E[v][v] = 1.0;
        for_each_node(graph.parents(v), graph.words(), [&](int p) {
            for (int j = 0; j < d; ++j) E[v][j] -= A[v][p] * E[p][j];
        });
    }
    shared.Sigma_ = product(product(E, Omega), transposed(E));
    // Half the Hessian of F as in information.hpp, the derivatives of the half gradient by S, and
    // those of Sigma by the parameters.
    const Square U = product(W, A), G = product(U, scaled), Q = product(G, transposed(U));
    const auto share = [](int a, int b) { return a == b ? 0.5 : 1.0; };
    std::vector<double> H(q * q), by_S(q * n_entries), D(q * n_entries);
    for (int s = 0; s < q; ++s) {
        const auto [a, b] = at[s];
        for (int t = 0; t <= s; ++t) {
            const auto [c, e] = at[t];
            double& entry = H[s * q + t];
            if (s < n_coefficients) {
                entry = W[a][c] * scaled[b][e];
            } else if (t < n_coefficients) {
                entry = share(a, b) * (W[c][a] * G[b][e] + W[c][b] * G[a][e]);
            } else {
                const auto form = [&, a = a, b = b](const Square& M, const Square& N) {
                    return M[b][c] * N[e][a] + M[b][e] * N[c][a] + M[a][c] * N[e][b] +
                           M[a][e] * N[c][b];
                };
                entry = 0.5 * share(a, b) * share(c, e) * (form(W, Q) + form(Q, W) - form(W, W));
            }
        }
        double *slope = &by_S[s * n_entries], *move = &D[s * n_entries];
        for (int i = 0; i < d; ++i)
            for (int j = 0; j <= i; ++j, ++slope, ++move)
                if (s < n_coefficients) {
                    *slope = share(i, j) * ((j == b ? U[a][i] : 0.0) + (i == b ? U[a][j] : 0.0));
                    *move = E[i][a] * shared.Sigma_[b][j] + shared.Sigma_[i][b] * E[j][a];
                } else {
                    *slope = share(i, j) * share(a, b) * (U[a][i] * U[b][j] + U[b][i] * U[a][j]);
                    *move = share(a, b) * (E[i][a] * E[j][b] + E[i][b] * E[j][a]);
                }
    }
    if (cholesky(H.data(), q) < q) return std::nullopt;
    std::vector<double> X = D;
    solve_factored(H.data(), q, X.data(), n_entries);
    // X^T D by the observed information; J gamma J^T for J = dSigma/dS otherwise.
    const auto times = [n_entries](const std::vector<double>& left, const double* right, int rows,
                                   double* out) {
        for (int s = 0; s < rows; ++s)
            for (int e = 0; e < n_entries; ++e)
                axpy(left[s * n_entries + e], right + s * n_entries, out + e * n_entries,
                     n_entries);
    };
    std::vector<double> V(n_entries * n_entries);
    if (gamma.empty()) {
        times(X, D.data(), q, V.data());
    } else {
        std::vector<double> J(V.size()), unit, row(n_entries);
        times(X, by_S.data(), q, J.data());
        for (int i = 0; i < d; ++i)
            for (int j = 0; j <= i; ++j) unit.push_back(1.0 / (sd[i] * sd[j]));
        for (std::size_t at_e = 0; at_e < J.size(); ++at_e) J[at_e] *= unit[at_e % n_entries];
        for (int e = 0; e < n_entries; ++e) {
            row.assign(n_entries, 0.0);
            subtract_dots(gamma.data(), n_entries, n_entries, &J[e * n_entries], n_entries,
                          row.data(), 1);
            subtract_dots(J.data(), n_entries, n_entries, row.data(), n_entries, &V[e * n_entries],
                          1);
        }
    }
    for (int e = 0; e < n_entries; ++e)
        std::copy_n(&V[e * n_entries], n_entries, shared.covariance_[e].begin());
    return shared;
}

bool SharedFit::coefficients(const Graph& graph, const std::vector<int>& nodes,
                             Coefficients& found) const {
    Square A{}, R{};                   // I - B, and A Sigma
    std::array<Entries, 2 * most> dB;  // the derivatives of the coefficients
    std::array<int, most> first{};     // of the coefficients of each node
    found.at.clear();
    found.coefficients.clear();
    Word wanted = 0, before = 0;
    for (const int v : nodes) insert(&wanted, v);
    for (const int v : topological_order(graph)) {
        if (!contains(&wanted, v)) continue;
        const int own = first[v] = static_cast<int>(found.at.size());
        for_each_node(graph.parents(v), 1, [&](int p) { found.at.emplace_back(v, p); });
        const int k = static_cast<int>(found.at.size()) - own;
        const auto parent = [&](int a) { return found.at[own + a].second; };
        Square M;
        for (int a = 0; a < k; ++a)
            for (int b = 0; b < k; ++b) M[a][b] = R[parent(a)][parent(b)];
        if (!invert(M, k)) return false;
        A[v][v] = 1.0;
        for (int a = 0; a < k; ++a)
            for (int b = 0; b < k; ++b) A[v][parent(a)] -= M[a][b] * R[parent(b)][v];
        for (int w = 0; w < most; ++w)
            for (int j = 0; j < most; ++j) R[v][j] += A[v][w] * Sigma_[w][j];
        // The errors of nodes that are not adjacent must be uncorrelated.
        bool fits = true;
        for_each_node(&before, 1, [&](int u) {
            if (graph.adjacent(u, v)) return;
            double covariance = 0.0;
            for (int w = 0; w < most; ++w) covariance += A[v][w] * R[u][w];
            fits = fits && std::abs(covariance) < largest_covariance;
        });
        if (!fits) return false;
        insert(&before, v);
        // The derivatives of A_v Sigma A_p^T, without those by the coefficients of v.
        std::array<Entries, most> change{};
        for (int a = 0; a < k; ++a) {
            const int p = parent(a);
            double* entry = change[a].data();
            for (int i = 0; i < d_; ++i) {
                for (int j = 0; j < i; ++j) *entry++ = A[v][i] * A[p][j] + A[v][j] * A[p][i];
                *entry++ = A[v][i] * A[p][i];
            }
            int s = first[p];
            for_each_node(graph.parents(p), 1,
                          [&](int w) { axpy(-R[v][w], dB[s++].data(), change[a].data(), width); });
        }
        for (int a = 0; a < k; ++a) {
            found.coefficients.push_back(-A[v][parent(a)]);
            dB[own + a].fill(0.0);
            for (int b = 0; b < k; ++b) axpy(M[a][b], change[b].data(), dB[own + a].data(), width);
        }
    }
    const int p = static_cast<int>(found.at.size());
    found.covariance.resize(p * p);
    for (int s = 0; s < p; ++s) {
        const auto unit = [&](int t) { return sd_[found.at[t].first] / sd_[found.at[t].second]; };
        Entries row{};  // minus the product of row s of dB and the covariance matrix
        subtract_dots(covariance_[0].data(), width, width, dB[s].data(), width, row.data(), 1);
        for (int t = 0; t <= s; ++t)
            found.covariance[s * p + t] = found.covariance[t * p + s] =
                -dot(row.data(), dB[t].data(), width) * (unit(s) * unit(t));
        found.coefficients[s] *= unit(s);
    }
    return true;
}

}  // namespace bowfree
