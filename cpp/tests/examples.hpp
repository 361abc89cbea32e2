// Small graphs and data for the tests.
#pragma once

#include <cmath>
#include <numbers>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "graph/edge.hpp"
#include "graph/graph.hpp"
#include "rng.hpp"
#include "space/random_graphs.hpp"

namespace bowfree::tests {

using Matrix = std::vector<double>;  // d x d, row-major

/// The graph of edges such as "0->1 1<->2", separated by spaces.
inline Graph graph_of(int d, const std::string& edges) {
    Graph graph(d);
    std::istringstream words(edges);
    for (std::string word; words >> word;) {
        const std::size_t mark = word.find_first_of("<-");
        const std::size_t end = word.find('>') + 1;
        const int a = std::stoi(word.substr(0, mark)), b = std::stoi(word.substr(end));
        word[mark] == '<' ? graph.add_bidirected(a, b) : graph.add_directed(a, b);
    }
    return graph;
}

/// A BAP drawn uniformly from those that `rules` permit.
inline Graph random_graph(int d, std::uint64_t seed, const Rules& rules = {}) {
    RandomWalk walk(Graph(d), rules, WalkStep::symmetric, Rng(seed));
    walk.advance(40 * d * d, Stop());
    return walk.graph();
}

/// A BAP with at most `n_edges` edges.
inline Graph sparse_graph(int d, std::uint64_t seed, int n_edges) {
    Rules rules;
    rules.max_edges = n_edges;
    return random_graph(d, seed, rules);
}

/// Coefficients and error covariances.
struct Model {
    Matrix B, Omega;
};

/// Random parameters of a graph; Omega is diagonally dominant.
inline Model random_model(const Graph& graph, Rng& rng) {
    const int d = graph.d();
    const auto uniform = [&] { return 2.0 * rng.uniform() - 1.0; };
    Model model{Matrix(d * d), Matrix(d * d)};
    for (int i = 0; i < d; ++i)
        for (int j = 0; j < d; ++j) {
            if (graph.directed(j, i)) model.B[i * d + j] = 1.5 * uniform();
            if (j < i && graph.bidirected(i, j))
                model.Omega[i * d + j] = model.Omega[j * d + i] = 0.8 * uniform();
        }
    for (int i = 0; i < d; ++i) {
        double sum = 0.5 + rng.uniform();
        for (int j = 0; j < d; ++j) sum += std::abs(model.Omega[i * d + j]);
        model.Omega[i * d + i] = sum;
    }
    return model;
}

/// Sigma = (I - B)^-1 Omega (I - B)^-T: X_v = eps_v + sum_p B_vp X_p, first for rows, then columns.
inline Matrix implied_covariance(const Graph& graph, const Model& model) {
    const int d = graph.d();
    Matrix Sigma = model.Omega;
    for (const int v : topological_order(graph))
        for (int p = 0; p < d; ++p)
            for (int w = 0; w < d; ++w) Sigma[v * d + w] += model.B[v * d + p] * Sigma[p * d + w];
    for (const int v : topological_order(graph))
        for (int p = 0; p < d; ++p)
            for (int w = 0; w < d; ++w) Sigma[w * d + v] += model.B[v * d + p] * Sigma[w * d + p];
    return Sigma;
}

inline double normal(Rng& rng) {
    return std::sqrt(-2.0 * std::log(1.0 - rng.uniform())) *
           std::cos(2.0 * std::numbers::pi * rng.uniform());
}

/// The covariance matrix (divisor n) of n draws from N(0, Sigma).
inline Matrix sample_covariance(const Matrix& Sigma, int d, int n, Rng& rng) {
    Matrix L = Sigma, S(d * d);
    for (int j = 0; j < d; ++j)
        for (int i = j; i < d; ++i) {
            for (int k = 0; k < j; ++k) L[i * d + j] -= L[i * d + k] * L[j * d + k];
            L[i * d + j] = i == j ? std::sqrt(L[i * d + j]) : L[i * d + j] / L[j * d + j];
        }
    std::vector<double> z(d), x(d);
    for (int row = 0; row < n; ++row) {
        for (double& entry : z) entry = normal(rng);
        for (int i = 0; i < d; ++i) {
            x[i] = 0.0;
            for (int k = 0; k <= i; ++k) x[i] += L[i * d + k] * z[k];
        }
        for (int i = 0; i < d; ++i)
            for (int j = 0; j < d; ++j) S[i * d + j] += x[i] * x[j] / n;
    }
    return S;
}

/// The covariance matrix of n draws from a random model of the graph.
inline Matrix sample_of(const Graph& graph, int n, std::uint64_t seed) {
    Rng rng(seed);
    return sample_covariance(implied_covariance(graph, random_model(graph, rng)), graph.d(), n,
                             rng);
}

/// Calls `visit` with every graph on d nodes without bows, cyclic ones included.
template <class Visit>
void for_each_bow_free_graph(int d, Visit&& visit) {
    for (std::uint32_t code = 0; code < std::uint32_t{1} << 2 * n_pairs(d); ++code) {
        Graph graph(d);
        std::uint32_t rest = code;
        for (int j = 1; j < d; ++j)
            for (int i = 0; i < j; ++i, rest >>= 2)
                add_edge(graph, i, j, static_cast<Edge>(rest & 3));
        visit(graph);
    }
}

}  // namespace bowfree::tests
