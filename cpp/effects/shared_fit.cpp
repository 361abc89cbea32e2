#include "effects/shared_fit.hpp"

#include <algorithm>
#include <cmath>

#include "dense.hpp"
#include "model/information.hpp"

namespace bowfree {

namespace {

constexpr int most = SharedFit::max_nodes;
using Square = std::array<std::array<double, most>, most>;

// Of scaled variables: what is less has too few digits, what is more is not equivalent.
constexpr double smallest_pivot = 1e-6;
constexpr double largest_covariance = 1e-6;

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

std::optional<SharedFit> SharedFit::of(const JointData& data, const Graph& graph,
                                       const std::vector<double>& B,
                                       const std::vector<double>& Omega,
                                       const std::vector<double>& gamma) {
    const SigmaEstimate estimate = estimate_sigma(data, graph, B, Omega, gamma);
    if (estimate.Sigma.empty()) return std::nullopt;
    const int d = graph.d(), n_entries = d * (d + 1) / 2;
    SharedFit shared;
    shared.d_ = d;
    for (int v = 0; v < d; ++v) {
        shared.sd_[v] = std::sqrt(data.conditions.front().S[v * d + v]);
        std::copy_n(&estimate.Sigma[v * d], d, shared.Sigma_[v].begin());
    }
    for (int e = 0; e < n_entries; ++e)
        std::copy_n(&estimate.covariance[e * n_entries], n_entries, shared.covariance_[e].begin());
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
