#include "equivalence/decision.hpp"

#include <cassert>
#include <utility>

namespace bowfree {

using field::Element;

Conditions one_or_more(Conditions conditions, int d) {
    if (conditions.empty()) conditions.resize(1, {.targets = std::vector<Word>(words_for(d))});
    return conditions;
}

std::uint64_t count_parameters(const Graph& graph, const Conditions& conditions) {
    std::uint64_t total = 0;
    const auto count = [&](auto&& use) {
        bool shared = false;
        for (const Condition& condition : conditions) {
            const ParameterUse here = use(condition);
            total += here == ParameterUse::specific;
            shared = shared || here == ParameterUse::shared;
        }
        total += shared;
    };
    for (int v = 0; v < graph.d(); ++v) {
        for_each_node(graph.parents(v), graph.words(), [&](int p) {
            count([&](const Condition& condition) { return condition.coefficient(p, v); });
        });
        count([&](const Condition& condition) { return condition.error(v, v); });
        for_each_node(graph.spouses(v), graph.words(), [&](int u) {
            if (u < v) count([&](const Condition& condition) { return condition.error(u, v); });
        });
    }
    return total;
}

Graph skeleton_of(const Graph& graph) {
    Graph skeleton(graph.d());
    for (int v = 0; v < graph.d(); ++v)
        for (const Word* row : {graph.parents(v), graph.spouses(v)})
            for_each_node(row, graph.words(), [&](int u) { skeleton.add_bidirected(u, v); });
    return skeleton;
}

bool same_skeleton(const Graph& G, const Graph& H) {
    const auto inside = [](const Graph& A, const Graph& B) {
        bool found = true;
        for (int v = 0; v < A.d() && found; ++v)
            for (const Word* row : {A.parents(v), A.spouses(v)})
                for_each_node(row, A.words(), [&](int u) { found = found && B.adjacent(u, v); });
        return found;
    };
    return inside(G, H) && inside(H, G);
}

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
            if (P.empty()) {
                Sigma[at(w, v)] = Sigma[at(v, w)];
                continue;
            }
            field::Sum sum(Sigma[at(v, w)]);
            for (const int p : P) sum.add(B[at(w, p)], Sigma[at(v, p)]);
            Sigma[at(v, w)] = Sigma[at(w, v)] = sum.value();
        }
    }
    return Sigma;
}

Covariances random_covariances(const Graph& graph, const std::vector<int>& order,
                               const Conditions& conditions, std::uint64_t seed, const Stop& stop) {
    const int d = graph.d();
    const auto at = [d](int i, int j) { return static_cast<std::size_t>(i) * d + j; };
    field::Draw draw(seed);
    FieldModel shared = random_parameters(graph, draw);
    Covariances Sigma;
    Sigma.reserve(conditions.size());
    for (const Condition& condition : conditions) {
        const bool last = &condition == &conditions.back();
        FieldModel here = last ? std::exchange(shared, {}) : shared;
        const auto change = [&](Element& value, ParameterUse use) {
            if (use == ParameterUse::absent) value = 0;
            if (use == ParameterUse::specific) value = draw();
        };
        for (int v = 0; condition.has_targets() && v < d; ++v) {
            for_each_node(graph.parents(v), graph.words(),
                          [&](int p) { change(here.B[at(v, p)], condition.coefficient(p, v)); });
            change(here.Omega[at(v, v)], condition.error(v, v));
            for_each_node(graph.spouses(v), graph.words(), [&](int u) {
                if (u > v) return;
                change(here.Omega[at(v, u)], condition.error(u, v));
                here.Omega[at(u, v)] = here.Omega[at(v, u)];
            });
        }
        Sigma.push_back(covariance(graph, order, std::move(here), stop));
    }
    return Sigma;
}

bool RowSolver::solve(int v, const std::vector<int>& parents, const Stop& stop) {
    const std::size_t k = parents.size(), width = k + 1;
    v_ = v;
    parents_ = &parents;
    for (std::size_t i = 0; i < k; ++i) {
        const Element* known = R_.data() + static_cast<std::size_t>(parents[i]) * d_;
        for (std::size_t j = 0; j < k; ++j) M_[i * width + j] = known[parents[j]];
        M_[i * width + k] = known[v];
    }
    if (!field::null_vector(M_.data(), static_cast<int>(k), row_.data(), stop)) return false;
    if (scaled_ && k > 0) {
        const Element scale = field::inverse(row_[k]);
        for (std::size_t i = 0; i < width; ++i) row_[i] = field::multiply(row_[i], scale);
    }
    return true;
}

void RowSolver::keep() {
    // Sigma is symmetric: row w has the covariances of w with the parents and v.
    const Element* Sigma_w = Sigma_;
    Element* out = R_.data() + static_cast<std::size_t>(v_) * d_;
    if (parents_->empty()) std::copy_n(Sigma_ + static_cast<std::size_t>(v_) * d_, d_, out);
    for (int w = 0; !parents_->empty() && w < d_; ++w, Sigma_w += d_) out[w] = combine(Sigma_w);
}

int RowSolver::correlated(std::span<const int> before, const Word* adjacent,
                          const Condition& condition) const {
    for (const int u : before)
        if ((!contains(adjacent, u) || condition.error(u, v_) == ParameterUse::absent) &&
            error(u) != 0)
            return u;
    return -1;
}

ConditionRows::ConditionRows(int d, const Conditions& conditions, const Covariances& Sigma)
    : conditions_(conditions), several_(conditions.size() > 1), d_(d), errors_(several_ ? d : 0) {
    solvers_.reserve(Sigma.size());
    for (const std::vector<Element>& matrix : Sigma)
        solvers_.emplace_back(d, matrix.data(), several_);
}

bool ConditionRows::agree(Shared& shared, Element value, int condition) {
    if (shared.from < 0) shared = {value, condition};
    return shared.value == value;
}

InclusionTest ConditionRows::add_node(int v, const std::vector<int>& parents,
                                      std::span<const int> before, const Word* adjacent,
                                      const Stop& stop) {
    static const std::vector<int> no_parents;
    if (several_) {
        coefficients_.assign(parents.size(), {});
        std::ranges::fill(errors_, Shared{});
    }
    for (std::size_t e = 0; e < conditions_.size(); ++e) {
        const Condition& condition = conditions_[e];
        const int here = static_cast<int>(e);
        RowSolver& solver = solvers_[e];
        const std::vector<int>& own_parents = condition.cuts(v) ? no_parents : parents;
        if (!solver.solve(v, own_parents, stop)) return {Inclusion::singular};
        for (std::size_t i = 0; several_ && i < own_parents.size(); ++i)
            if (condition.coefficient(parents[i], v) == ParameterUse::shared &&
                !agree(coefficients_[i], solver.entry(i), here))
                return {Inclusion::no, Conflict::coefficient,
                        here,          coefficients_[i].from,
                        parents[i],    v};
        if (const int u = solver.correlated(before, adjacent, condition); u >= 0)
            return {Inclusion::no, Conflict::correlated, here, -1, u, v};
        for (std::size_t i = 0; several_ && i < before.size(); ++i) {
            // The error of a parent is uncorrelated by construction, in all conditions.
            const int u = before[i];
            if (contains(adjacent, u) && condition.error(u, v) == ParameterUse::shared &&
                !agree(errors_[u], solver.error(u), here))
                return {Inclusion::no, Conflict::error, here, errors_[u].from, u, v};
        }
        // The row of the last node is needed for its variance only.
        if (several_ || before.size() + 1 < d_) solver.keep();
        if (several_ && condition.error(v, v) == ParameterUse::shared &&
            !agree(errors_[v], solver.error(v), here))
            return {Inclusion::no, Conflict::error, here, errors_[v].from, v, v};
    }
    return {};
}

InclusionTest produces(const Graph& H, const std::vector<int>& order, ConditionRows& rows,
                       const Stop& stop) {
    std::vector<int> parents;
    std::vector<Word> adjacent(H.words());  // among the nodes before, none of which is a child
    for (std::size_t step = 0; step < order.size(); ++step) {
        const int v = order[step];
        if (H.d() >= field::long_work) stop.check();
        list_nodes(H.parents(v), H.words(), parents);
        for (int w = 0; w < H.words(); ++w) adjacent[w] = H.parents(v)[w] | H.spouses(v)[w];
        const InclusionTest test =
            rows.add_node(v, parents, {order.begin(), order.begin() + step}, adjacent.data(), stop);
        if (test.answer != Inclusion::yes) return test;
    }
    return {};
}

InclusionTest InclusionOracle::inside(const Graph& H, const std::vector<int>& order,
                                      const Stop& stop) {
    int confirmed = 0;
    for (int draw = 0; draw < max_draws; ++draw) {
        if (draw == static_cast<int>(draws_.size())) {
            auto Sigma =
                random_covariances(*G_, order_, *conditions_, draw_seed(seed_, draw), stop);
            ConditionRows rows(H.d(), *conditions_, Sigma);  // its matrices stay where they are
            draws_.push_back({std::move(Sigma), std::move(rows)});
        }
        const InclusionTest test = produces(H, order, draws_[draw].rows, stop);
        if (test.answer == Inclusion::no) return test;
        if (test.answer == Inclusion::yes && ++confirmed == 2) return test;
    }
    throw NoRegularDraw();
}

InclusionTest InclusionOracle::equal(const Graph& H, const std::vector<int>& order,
                                     const Stop& stop) {
    const InclusionTest test = inside(H, order, stop);
    if (test.answer == Inclusion::yes &&
        count_parameters(*G_, *conditions_) != count_parameters(H, *conditions_))
        return {Inclusion::no, Conflict::dimension};
    return test;
}

}  // namespace bowfree
