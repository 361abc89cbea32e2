#include "equivalence/decision.hpp"

#include <cassert>
#include <utility>

namespace bowfree {

using field::Element;

FieldModel random_parameters(const Graph& graph, field::Draw& draw) {
    const int d = graph.d();
    const auto at = [d](int i, int j) { return static_cast<std::size_t>(i) * d + j; };
    std::vector<Element> B(static_cast<std::size_t>(d) * d), Omega(B.size());
    for (int i = 0; i < d; ++i) {
        for_each_node(graph.parents(i), graph.words(), [&](int j) { B[at(i, j)] = draw(); });
        Omega[at(i, i)] = draw();
        for_each_node(graph.spouses(i), graph.words(), [&](int j) {
            if (j < i) Omega[at(i, j)] = Omega[at(j, i)] = draw();
        });
    }
    return {std::move(B), std::move(Omega)};
}

std::vector<Element> covariance(const Graph& graph, const std::vector<int>& order, FieldModel model,
                                const Stop& stop) {
    const int d = graph.d();
    assert(static_cast<int>(order.size()) == d);
    const auto at = [d](int i, int j) { return static_cast<std::size_t>(i) * d + j; };
    const std::vector<Element>& B = model.B;
    std::vector<Element> Sigma = std::move(model.Omega);
    std::vector<int> P;
    // (I-B)^-1 Omega, row by row along the order: X_v = eps_v + sum_p B_vp X_p ...
    for (int v : order) {
        if (d >= field::long_work) stop.check();
        list_nodes(graph.parents(v), graph.words(), P);
        if (P.empty()) continue;
        for (int w = 0; w < d; ++w) {
            field::Sum sum(Sigma[at(v, w)]);
            for (const int p : P) sum.add(B[at(v, p)], Sigma[at(p, w)]);
            Sigma[at(v, w)] = sum.value();
        }
    }
    // ... and the same for the columns. Sigma is symmetric, so the rows of w and of later nodes are
    // enough.
    for (int position = 0; position < d; ++position) {
        if (d >= field::long_work) stop.check();
        const int w = order[position];
        list_nodes(graph.parents(w), graph.words(), P);
        for (int later = position; later < d; ++later) {
            const int v = order[later];
            field::Sum sum(Sigma[at(v, w)]);
            for (const int p : P) sum.add(B[at(w, p)], Sigma[at(v, p)]);
            Sigma[at(v, w)] = Sigma[at(w, v)] = sum.value();
        }
    }
    return Sigma;
}

std::vector<Element> random_covariance(const Graph& graph, const std::vector<int>& order,
                                       std::uint64_t seed, const Stop& stop) {
    field::Draw draw(seed);
    return covariance(graph, order, random_parameters(graph, draw), stop);
}

InclusionTest produces(const Graph& H, const std::vector<int>& order, const Element* Sigma,
                       const Stop& stop) {
    const int d = H.d();
    assert(static_cast<int>(order.size()) == d);
    std::vector<Element> R(static_cast<std::size_t>(d) * d);  // R_v = cov(eps_v, X)
    std::vector<Element> M, a(d + 1);
    std::vector<int> P;
    for (int step = 0; step < d; ++step) {
        if (d >= field::long_work) stop.check();
        const int v = order[step];
        list_nodes(H.parents(v), H.words(), P);
        if (!field::solve_row(R.data(), d, v, P, M, a, stop)) return {Inclusion::singular};
        for (int before = 0; before < step; ++before) {
            const int u = order[before];
            if (H.adjacent(u, v)) continue;
            const Element* row = R.data() + static_cast<std::size_t>(u) * d;
            if (field::error_covariance(row, v, P, a) != 0) return {Inclusion::no, u, v};
        }
        if (step + 1 < d)  // the row of the last node is not needed
            field::combine(Sigma, d, P, a.data(), v, R.data() + static_cast<std::size_t>(v) * d);
    }
    return {Inclusion::yes};
}

namespace {

/// `sigma(draw)` is Sigma of G at draw 0 or 1. A singular draw is replaced by further ones.
template <class Sigma>
InclusionTest decide(const Graph& G, const std::vector<int>& order_G, const Graph& H,
                     const std::vector<int>& order_H, std::uint64_t seed, const Stop& stop,
                     Sigma&& sigma) {
    InclusionTest test;
    for (int draw = 0; draw < 2 && test.answer == Inclusion::yes; ++draw) {
        test = produces(H, order_H, sigma(draw).data(), stop);
        for (int next = 2; test.answer == Inclusion::singular; ++next) {
            if (next == max_draws) throw NoRegularDraw();
            const auto other = random_covariance(G, order_G, draw_seed(seed, next), stop);
            test = produces(H, order_H, other.data(), stop);
        }
    }
    return test;
}

}  // namespace

InclusionTest inside(const Graph& G, const std::vector<int>& order_G, const Graph& H,
                     const std::vector<int>& order_H, std::uint64_t seed, const Stop& stop) {
    return decide(G, order_G, H, order_H, seed, stop, [&](int draw) {
        return random_covariance(G, order_G, draw_seed(seed, draw), stop);
    });
}

InclusionOracle::InclusionOracle(const Graph& G, std::uint64_t seed, const Stop& stop)
    : seed_(seed), G_(G), order_(topological_order(G)) {
    for (int draw = 0; draw < 2; ++draw)
        Sigma_[draw] = random_covariance(G, order_, draw_seed(seed, draw), stop);
}

InclusionTest InclusionOracle::inside(const Graph& H, const std::vector<int>& order,
                                      const Stop& stop) const {
    return decide(G_, order_, H, order, seed_, stop,
                  [&](int draw) -> const std::vector<Element>& { return Sigma_[draw]; });
}

}  // namespace bowfree
